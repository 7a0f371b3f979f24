"""lightning: a LightningModule on npu, through an accelerator class as lightning asks for one.

Lightning knows no npu of its own; its documented way to add a device is the class below. The
strategy names the device, because lightning's default one is for its own accelerators only.

    python examples/ecosystem/lightning_module.py
"""

from __future__ import annotations

import logging
import warnings
from typing import Any

import lightning
import torch
from against_cpu import Outcome, main
from lightning.pytorch.accelerators import Accelerator, AcceleratorRegistry
from lightning.pytorch.strategies import SingleDeviceStrategy
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class NPUAccelerator(Accelerator):
    """Lightning's view of `torch.npu`."""

    def setup_device(self, device: torch.device) -> None:
        torch.npu.set_device(device)

    def teardown(self) -> None:
        torch.npu.empty_cache()

    def get_device_stats(self, device: torch.device) -> dict[str, Any]:
        return torch.npu.memory_stats(device)

    @staticmethod
    def parse_devices(devices: int | str | list[int]) -> list[int]:
        return list(range(int(devices))) if isinstance(devices, int | str) else devices

    @staticmethod
    def get_parallel_devices(devices: list[int]) -> list[torch.device]:
        return [torch.device("npu", index) for index in devices]

    @staticmethod
    def auto_device_count() -> int:
        return torch.npu.device_count()

    @staticmethod
    def is_available() -> bool:
        return torch.npu.is_available()

    @staticmethod
    def name() -> str:
        return "npu"


AcceleratorRegistry.register("npu", NPUAccelerator, description="Ascend NPU")


class Digits(lightning.LightningModule):
    """A small CNN for images (N, 1, 8, 8) of ten digits."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(256, 10),
        )
        self.losses: list[torch.Tensor] = []

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layers(images)

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        images, labels = batch
        loss = nn.functional.cross_entropy(self(images), labels)
        self.log("loss", loss)
        self.losses.append(loss.detach())
        return loss

    def validation_step(self, batch: tuple[torch.Tensor, torch.Tensor]) -> None:
        images, labels = batch
        self.log("accuracy", (self(images).argmax(1) == labels).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def train(device: str) -> Outcome:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    lightning.seed_everything(0, verbose=False)
    images, labels = load_digits(return_X_y=True)
    data = TensorDataset(
        torch.tensor(images / 16.0).float().view(-1, 1, 8, 8), torch.tensor(labels).long()
    )
    training, validation = torch.utils.data.random_split(data, [0.8, 0.2])
    trainer = lightning.Trainer(
        accelerator=device,
        devices=1,
        strategy=SingleDeviceStrategy("npu:0" if device == "npu" else "cpu"),
        max_epochs=2,
        gradient_clip_val=1.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = Digits()
    trainer.fit(model, DataLoader(training, 64, shuffle=True), DataLoader(validation, 128))
    assert model.losses[0].device.type == device, model.losses[0].device
    losses = torch.stack(model.losses).tolist()
    return Outcome(losses, [trainer.callback_metrics["accuracy"].item()])


if __name__ == "__main__":
    main(train)
