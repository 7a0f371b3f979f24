"""Training loops as users write them: equal to the CPU's, without the CPU path."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

STEPS = 6


@pytest.fixture(autouse=True)
def no_operator_falls_back() -> Iterator[None]:
    before = torch.npu.fallback_counts()
    yield
    counts = torch.npu.fallback_counts()
    assert {name: n for name, n in counts.items() if n != before.get(name, 0)} == {}


class Convolutional(nn.Module):
    """Images of (3, 12, 12) to 5 classes, by convolution, batch norm and pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, groups=2), nn.GELU(), nn.AdaptiveAvgPool2d(2),
        )  # fmt: skip
        self.classify = nn.Sequential(nn.Flatten(), nn.Dropout(0.0), nn.Linear(64, 5))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.classify(self.features(images))


class Language(nn.Module):
    """Tokens (8, 12) to logits (8, 12, 32), by a transformer encoder of two layers."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            16, 4, 32, dropout=0.0, activation="gelu", batch_first=True
        )
        self.embed = nn.Embedding(32, 16)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(16, 32)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.embed(tokens)))


def images_and_labels(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    return (
        torch.randn(16, 3, 12, 12, generator=generator),
        torch.randint(5, (16,), generator=generator),
    )


def tokens_and_next_tokens(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = torch.randint(32, (8, 13), generator=torch.Generator().manual_seed(step))
    return tokens[:, :-1], tokens[:, 1:]


TASKS = {
    "convolutional": (Convolutional, images_and_labels),
    "language": (Language, tokens_and_next_tokens),
}
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda p, **options: torch.optim.SGD(p, lr=0.05, momentum=0.9, **options),
    "adam": lambda p, **options: torch.optim.Adam(p, lr=1e-2, **options),
    "adamw": lambda p, **options: torch.optim.AdamW(p, lr=1e-2, **options),
}


class Trainer:
    """A model, its optimizer and its scaler on one device."""

    def __init__(
        self,
        task: str,
        device: str,
        optimizer: str = "adamw",
        dtype: torch.dtype | None = None,
        **options: bool,
    ) -> None:
        model, self.batch = TASKS[task]
        torch.manual_seed(0)
        self.device, self.dtype = device, dtype
        self.model = model().to(device)
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters(), **options)
        self.scaler = torch.amp.GradScaler(
            device, init_scale=2.0**12, growth_interval=2, enabled=dtype == torch.float16
        )

    def step(self, step: int, spoil: bool = False) -> float:
        inputs, targets = (t.to(self.device, non_blocking=True) for t in self.batch(step))
        with torch.autocast(self.device, dtype=self.dtype, enabled=self.dtype is not None):
            logits = self.model(inputs)
        loss = nn.functional.cross_entropy(logits.flatten(0, -2).float(), targets.flatten())
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        if spoil:
            next(self.model.parameters()).grad.fill_(float("inf"))
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])


def losses(trainer: Trainer, steps: range = range(STEPS)) -> torch.Tensor:
    return torch.tensor([trainer.step(step) for step in steps])


def assert_same_parameters(a: Trainer, b: Trainer, **tolerance: float) -> None:
    for (name, value), other in zip(
        a.model.state_dict().items(), b.model.state_dict().values(), strict=True
    ):
        torch.testing.assert_close(
            value.cpu(), other.cpu(), msg=lambda text, name=name: f"{name}: {text}", **tolerance
        )


@pytest.mark.parametrize("implementation", ["plain", "foreach", "fused"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("task", TASKS)
def test_training_matches_the_cpu(task: str, optimizer: str, implementation: str) -> None:
    options = {name: implementation == name for name in ("foreach", "fused")}
    on_npu = Trainer(task, "npu", optimizer, **options)
    on_cpu = Trainer(task, "cpu", optimizer, **options)
    torch.testing.assert_close(losses(on_npu), losses(on_cpu), rtol=1e-4, atol=1e-5)
    assert_same_parameters(on_npu, on_cpu, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("task", TASKS)
def test_mixed_precision_training_matches_the_cpu(task: str, dtype: torch.dtype) -> None:
    """As far as the half type goes: the CPU's autocast casts other operators."""
    on_npu, on_cpu = Trainer(task, "npu", dtype=dtype), Trainer(task, "cpu", dtype=dtype)
    torch.testing.assert_close(losses(on_npu), losses(on_cpu), rtol=3e-2, atol=3e-2)
    assert on_npu.scaler.get_scale() == on_cpu.scaler.get_scale()
    assert all(p.dtype == torch.float32 for p in on_npu.model.parameters())


def test_step_with_an_infinite_gradient_is_skipped_and_halves_the_scale() -> None:
    trainer = Trainer("language", "npu", dtype=torch.float16)
    trainer.step(0)
    before, scale = copy.deepcopy(trainer.model.state_dict()), trainer.scaler.get_scale()
    trainer.step(1, spoil=True)
    assert trainer.scaler.get_scale() == scale / 2
    for name, value in trainer.model.state_dict().items():
        assert torch.equal(value, before[name]), name


@pytest.mark.parametrize("dtype", [None, torch.float16])
@pytest.mark.parametrize("task", TASKS)
def test_training_goes_on_from_a_checkpoint(task: str, dtype: torch.dtype | None) -> None:
    """Three steps, saved, loaded into a new trainer and three more are six steps, to the bit."""
    whole, first = Trainer(task, "npu", dtype=dtype), Trainer(task, "npu", dtype=dtype)
    expected = losses(whole)
    losses(first, range(3))
    file = io.BytesIO()
    torch.save(first.state_dict(), file)

    second = Trainer(task, "npu", dtype=dtype)
    file.seek(0)
    second.load_state_dict(torch.load(file, map_location="npu:0"))
    assert torch.equal(losses(second, range(3, STEPS)), expected[3:])
    assert_same_parameters(second, whole, rtol=0, atol=0)


def test_checkpoint_of_npu_goes_on_on_the_cpu_and_back() -> None:
    first = Trainer("convolutional", "npu")
    losses(first, range(3))
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    on_cpu, on_npu = Trainer("convolutional", "cpu"), Trainer("convolutional", "npu")
    for trainer in on_cpu, on_npu:
        file.seek(0)
        state = torch.load(file, map_location="cpu")
        assert all(value.device.type == "cpu" for value in state["model"].values())
        trainer.load_state_dict(state)
    assert_same_parameters(on_npu, first, rtol=0, atol=0)
    more = range(3, STEPS)
    torch.testing.assert_close(losses(on_npu, more), losses(on_cpu, more), rtol=1e-4, atol=1e-5)
