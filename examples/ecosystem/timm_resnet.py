"""timm: train a small ResNet on npu, with timm's loader, optimizer and schedule.

The loader prefetches to npu on a stream of its own. The images are made here: noise in which one of
the three colours is stronger, which is the class.

    python examples/ecosystem/timm_resnet.py

With PyPI's torchvision, which is built for CUDA, start it as torchvision_from_pypi.py says.
"""

from __future__ import annotations

import timm
import torch
from against_cpu import Outcome, main
from PIL import Image
from timm.data import create_loader
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from torch import nn
from torch.utils.data import Dataset

SIZE, CLASSES, EPOCHS, BATCH = 32, 3, 4, 32


class Colours(Dataset):
    """Noise images of SIZE×SIZE pixels; the class is the number of the stronger colour."""

    def __init__(self, count: int) -> None:
        self.transform = None  # set by create_loader
        generator = torch.Generator().manual_seed(0)
        self.pixels = torch.randint(
            0, 128, (count, SIZE, SIZE, 3), dtype=torch.uint8, generator=generator
        )
        for index, image in enumerate(self.pixels):
            image[..., index % CLASSES] += 127

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.transform(Image.fromarray(self.pixels[index].numpy())), index % CLASSES


def train(device: str) -> Outcome:
    torch.manual_seed(0)
    loader = create_loader(
        Colours(128),
        input_size=(3, SIZE, SIZE),
        batch_size=BATCH,
        is_training=True,
        no_aug=True,
        num_workers=0,
        device=torch.device(device),
    )
    model = timm.create_model("resnet18", num_classes=CLASSES, channels=(16, 16, 32, 32)).to(device)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.01)
    schedule = CosineLRScheduler(optimizer, t_initial=EPOCHS, lr_min=1e-4)
    loss_fn = nn.CrossEntropyLoss()

    losses = []
    for epoch in range(EPOCHS):
        schedule.step(epoch)
        for images, labels in loader:
            assert images.device.type == device, images.device
            loss = loss_fn(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())

    model.eval()
    with torch.no_grad():
        images, labels = next(iter(loader))
        logits = model(images)
    return Outcome(torch.stack(losses).tolist(), logits.flatten().tolist())


if __name__ == "__main__":
    main(train)
