"""accelerate: an ordinary training loop that `Accelerator` puts on npu.

A small network learns scikit-learn's handwritten digits, with accumulated gradients, clipping and
a learning rate schedule. `Accelerator` finds `npu` by itself.

    python examples/ecosystem/accelerate_loop.py
"""

from __future__ import annotations

import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from against_cpu import Outcome, main
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, BATCH, ACCUMULATE = 3, 64, 2


def train(device: str) -> Outcome:
    accelerator = Accelerator(cpu=device == "cpu", gradient_accumulation_steps=ACCUMULATE)
    assert accelerator.device.type == device, accelerator.device
    set_seed(0)

    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images / 16.0).float()
    data = TensorDataset(images, torch.tensor(labels).long())
    model = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * len(data) // BATCH)
    loader = DataLoader(data, batch_size=BATCH, shuffle=True)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)

    losses = []
    for _ in range(EPOCHS):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            losses.append(loss.detach())
    losses = torch.stack(losses).tolist()

    # A saved state brings back what training has changed since.
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        with torch.no_grad():
            nn.init.zeros_(model[3].weight)
        accelerator.load_state(folder)
    with torch.no_grad():
        answers = accelerator.gather(model(images[:8].to(accelerator.device)))
    return Outcome(losses, answers.flatten().tolist())


if __name__ == "__main__":
    main(train)
