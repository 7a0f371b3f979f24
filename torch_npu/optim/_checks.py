"""The ranges of the optimizers' arguments."""

from __future__ import annotations

from collections.abc import Sequence


def require_non_negative(**values: float | None) -> None:
    """Raises `ValueError` that names a value below zero, or one that is missing."""
    for name, value in values.items():
        if value is None or value < 0:
            raise ValueError(f"{name} must be at least 0, but is {value}")


def require_decay_rates(betas: Sequence[float], name: str = "betas") -> None:
    """Raises `ValueError` unless every rate is at least 0 and below 1."""
    for index, beta in enumerate(betas):
        if not 0 <= beta < 1:
            raise ValueError(f"{name}[{index}] must be at least 0 and below 1, but is {beta}")
