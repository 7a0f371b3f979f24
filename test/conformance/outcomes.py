"""What a call came to, on either device, and whether two outcomes agree."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from . import leeway


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A result, or the exception that took its place."""

    value: Any = None
    error: Exception | None = None

    def __str__(self) -> str:
        return "a result" if self.error is None else short(self.error)


def short(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:240]


def attempt(call: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(value=call())
    except Exception as error:
        return Outcome(error=error)


def same_exception(expected: Exception, actual: Exception) -> bool:
    """Equal types; AcceleratorError, of what only the device finds, stands for RuntimeError."""
    if isinstance(actual, torch.AcceleratorError):
        return type(expected) is RuntimeError
    return type(actual) is type(expected)


def disagreement(
    expected: Outcome,
    actual: Outcome,
    device: str,
    values: bool,
    allowed: leeway.Leeway = leeway.NONE,
    entry: str = "",
) -> str | None:
    """Why `actual` is not what the CPU gave, or None. Without `values` only the form counts.

    `allowed` is what the backend may do otherwise in the database's entry of that name.
    """
    if expected.error is not None or actual.error is not None:
        if (
            expected.error is not None
            and actual.error is not None
            and same_exception(expected.error, actual.error)
        ):
            return None
        return f"cpu gave {expected}, {device} {actual}"
    expected_leaves, expected_tree = tree_flatten(expected.value)
    actual_leaves, actual_tree = tree_flatten(actual.value)
    if expected_tree != actual_tree:
        return f"structure: cpu gave {expected_tree}, {device} {actual_tree}"[:240]
    for place, (left, right) in enumerate(zip(expected_leaves, actual_leaves, strict=True)):
        if allowed.ignores(entry, place, left):
            continue
        tolerance: dict[str, float] = {}
        if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
            left, right = allowed.in_common_dtype(entry, place, left, right)
            tolerance = allowed.tolerance(entry, left.dtype)
        reason = _leaf_disagreement(left, right, device, values, tolerance)
        if reason is None and not allowed.layout:
            reason = _layout_disagreement(left, right, device)
        if reason is not None:
            return reason
    return None


def is_no_less_exact(actual: Outcome, expected: Outcome, exact: Outcome) -> bool:
    """Whether what the device gave in low precision is as near as the CPU's results to those of the
    same call in float64. Results that are no floats must be the CPU's."""
    leaves = [tree_flatten(outcome.value)[0] for outcome in (actual, expected, exact)]
    if exact.error is not None or len({len(each) for each in leaves}) != 1:
        return False
    for ours, cpus, truth in zip(*leaves, strict=True):
        if not isinstance(truth, torch.Tensor) or not truth.is_floating_point():
            device = ours.device.type if isinstance(ours, torch.Tensor) else ""
            if _leaf_disagreement(cpus, ours, device, True, {}) is not None:
                return False
        elif truth.numel() and _error(ours, truth) > 1.01 * _error(cpus, truth):
            return False
    return True


def _error(result: torch.Tensor, truth: torch.Tensor) -> float:
    """The greatest difference, with what float32's own rounding may add taken off."""
    difference = (result.detach().cpu().double() - truth.detach()).abs()
    difference = torch.where(truth.isfinite(), difference.nan_to_num(nan=float("inf")), 0.0)
    largest = truth.detach().nan_to_num(0, 0, 0).abs().max().item()
    return max(0.0, difference.max().item() - 1e-5 * largest)


def strides_that_count(tensor: torch.Tensor) -> tuple[int, ...]:
    """Of the dimensions that are walked: others' strides mean nothing."""
    if tensor.layout != torch.strided or tensor.is_nested or tensor.numel() == 0:
        return ()
    return tuple(
        stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size != 1
    )


def _layout_disagreement(expected: Any, actual: Any, device: str) -> str | None:
    if not isinstance(expected, torch.Tensor):
        return None
    left, right = strides_that_count(expected), strides_that_count(actual)
    if left == right:
        return None
    return f"strides: of {tuple(expected.shape)} cpu gave {left}, {device} {right}"


def _leaf_disagreement(
    expected: Any, actual: Any, device: str, values: bool, tolerance: dict[str, float]
) -> str | None:
    if isinstance(expected, torch.Tensor):
        if not isinstance(actual, torch.Tensor):
            return f"cpu gave a tensor, {device} {type(actual).__name__}"
        return _tensor_disagreement(expected, actual, device, values, tolerance)
    if isinstance(expected, torch.device):
        return None
    if isinstance(expected, float) and isinstance(actual, float) and values:
        close = math.isclose(expected, actual, rel_tol=1e-6, abs_tol=1e-7)
        if close or (math.isnan(expected) and math.isnan(actual)):
            return None
    if type(expected) is not type(actual):
        return f"cpu gave {type(expected).__name__}, {device} {type(actual).__name__}"
    if values and expected != actual:
        return f"cpu gave {expected!r}, {device} {actual!r}"[:240]
    return None


def _tensor_disagreement(
    expected: torch.Tensor,
    actual: torch.Tensor,
    device: str,
    values: bool,
    tolerance: dict[str, float],
) -> str | None:
    for name in ("dtype", "layout"):
        if getattr(expected, name) != getattr(actual, name):
            return f"{name}: cpu {getattr(expected, name)}, {device} {getattr(actual, name)}"
    if actual.device.type != device:
        return f"result is on {actual.device.type}"
    if not expected.is_nested and expected.shape != actual.shape:
        return f"shape: cpu {tuple(expected.shape)}, {device} {tuple(actual.shape)}"
    if not values:
        return None
    host = attempt(lambda: actual.detach().cpu())
    if host.error is not None:
        return f"reading the result: {host}"
    try:
        torch.testing.assert_close(host.value, expected.detach(), equal_nan=True, **tolerance)
    except AssertionError as error:
        return "values: " + " ".join(str(error).split())[:220]
    return None
