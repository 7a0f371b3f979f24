"""Train a small CNN on scikit-learn's handwritten digits, on an NPU and again on the CPU.

The same file runs on our `torch_npu`, on the official `torch-npu` and on plain PyTorch:

    python examples/train_digits.py --device npu
    python examples/train_digits.py --device npu --dtype bfloat16
    python examples/train_digits.py --device cpu

It writes a picture of the learning curves and `report.json` into the folder given with `--out`.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from tqdm import tqdm

BATCH = 64

Split = tuple[torch.Tensor, torch.Tensor]


@dataclass
class Run:
    """What one training has shown: a loss for every step, a test accuracy for every epoch."""

    device: str
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)


def load_data() -> tuple[Split, Split]:
    """Training and test split: images (N, 1, 8, 8) in [0, 1] as float32, labels (N,) as int64."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images, labels, test_size=0.2, random_state=0, stratify=labels)
    x_train, x_test = (torch.tensor(x / 16.0).float().view(-1, 1, 8, 8) for x in parts[:2])
    y_train, y_test = (torch.tensor(y).long() for y in parts[2:])
    return (x_train, y_train), (x_test, y_test)


def build_model() -> nn.Module:
    """Two convolutions with batch norm and pooling, then two linear layers: (N, 1, 8, 8) → (N, 10).

    Nothing in it draws random numbers, so every device sees the same training.
    """
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def accuracy(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """The share of images, from 0 to 1, that the model names right."""
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).float().mean().item()
    model.train()
    return right


def train(device: str, epochs: int, seed: int, dtype: torch.dtype) -> Run:
    """Train from `seed` on `device`; weights and data order come from the CPU's generator. Another
    dtype than float32 is that of autocast: products in it, weights and losses in float32."""
    torch.manual_seed(seed)
    order = torch.Generator().manual_seed(seed)
    (x_train, y_train), test = load_data()
    model = build_model().to(device)
    x_train, y_train = x_train.to(device), y_train.to(device)
    x_test, y_test = (t.to(device) for t in test)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    loss_fn = nn.CrossEntropyLoss()

    mixed = torch.autocast(torch.device(device).type, dtype, enabled=dtype != torch.float32)
    run = Run(device)
    start = time.perf_counter()
    bar = tqdm(range(epochs), desc=f"{device:>6}", unit="epoch")
    for _ in bar:
        losses = []
        for index in torch.randperm(len(x_train), generator=order).split(BATCH):
            index = index.to(device)
            with mixed:
                loss = loss_fn(model(x_train[index]), y_train[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        # The losses are read once an epoch: reading one waits for the device.
        run.losses += torch.stack(losses).tolist()
        run.accuracies.append(accuracy(model, x_test, y_test))
        bar.set_postfix(loss=f"{run.losses[-1]:.4f}", accuracy=f"{run.accuracies[-1]:.2%}")
    run.seconds = time.perf_counter() - start
    return run


def fallback_operators() -> list[str] | None:
    """The operators that ran on the CPU instead; None where the backend does not count them."""
    counts = getattr(getattr(torch, "npu", None), "fallback_counts", None)
    return sorted(counts()) if counts else None


def draw(runs: list[Run], path: Path) -> None:
    """Write the loss of every step and the accuracy of every epoch as a PNG."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for run, style in zip(runs, ("-", "--"), strict=False):
        label = f"{run.device} ({run.seconds:.1f} s)"
        left.plot(run.losses, style, label=label)
        right.plot(range(1, len(run.accuracies) + 1), run.accuracies, style, label=label)
    left.set(xlabel="step", ylabel="training loss", yscale="log")
    right.set(xlabel="epoch", ylabel="test accuracy")
    right.axhline(0.97, color="grey", linewidth=0.8)
    for axes in (left, right):
        axes.legend()
        axes.grid(alpha=0.3)
    figure.suptitle("Handwritten digits, 8×8 pixels")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a CNN on handwritten digits.")
    parser.add_argument("--device", default="npu", help="npu, npu:1, cpu, … (default: npu)")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/demo"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    device = "npu:0" if args.device == "npu" else args.device
    devices = [device] if device == "cpu" else [device, "cpu"]
    for each in devices:  # one-time costs belong to no one's seconds
        torch.ones(8, 8, device=each) @ torch.ones(8, 8, device=each)
    dtype = getattr(torch, args.dtype)
    runs = {each: train(each, args.epochs, args.seed, dtype) for each in devices}

    first, cpu = runs[device], runs["cpu"]
    fallbacks = fallback_operators()
    difference = max(abs(a - b) for a, b in zip(first.losses, cpu.losses, strict=True))
    report = {
        "device": device,
        "dtype": args.dtype,
        "torch": torch.__version__,
        "epochs": args.epochs,
        "test_accuracy": first.accuracies[-1],
        "test_accuracy_cpu": cpu.accuracies[-1],
        "seconds_npu": None if device == "cpu" else first.seconds,
        "seconds_cpu": cpu.seconds,
        "greatest_loss_difference": difference,
        "fallback_operators": fallbacks,
    }
    draw(list(runs.values()), args.out / "learning_curve.png")
    (args.out / "report.json").write_text(json.dumps(report, indent=2) + "\n")

    print(f"\ntest accuracy on {device}: {first.accuracies[-1]:.2%}")
    print("seconds: " + ", ".join(f"{run.seconds:.2f} on {run.device}" for run in runs.values()))
    print(f"greatest difference between the loss curves: {difference:.1e}")
    listed = "not counted here" if fallbacks is None else ", ".join(fallbacks) or "none"
    print(f"operators that fell back to the CPU: {listed}")
    print(f"written: {args.out}/learning_curve.png, {args.out}/report.json")


if __name__ == "__main__":
    main()
