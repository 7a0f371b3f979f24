"""One call on the CPU and on npu: whether both come to the same value, or to the same exception."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from conformance import outcomes, samples
from fuzz import seeds
from fuzz.outputs import Stays
from torch.utils._pytree import tree_leaves, tree_map

# Errors that need the data, which are found when the kernel runs; by words of their texts.
DATA = (
    *("out of bounds", "out of range", "index", "singular", "converge", "positive-definite"),
    *("probability", "negative", "between 0 and 1", "sorted", "NaN", "nan", "non-finite", "infs"),
    *("Target", "offsets", "overflow", "monotonically", "sum of", "boundaries", "label", "pivots"),
)


# Of outputs that share memory with themselves or an input, which some of the CPU's kernels accept,
# and then read what they have overwritten.
OVERLAP = "to a single memory location"


class _Carrier:
    """Copies trees of tensors to a device: what shares memory shares it there."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._storages: dict[tuple[int, torch.dtype], torch.Tensor] = {}
        self._alive: list[torch.Tensor] = []

    def __call__(self, leaf: Any) -> Any:
        if isinstance(leaf, Stays):
            return samples.copy_to(leaf.tensor, leaf.device)
        if isinstance(leaf, torch.Tensor):
            if leaf.is_conj():
                return self(leaf.conj()).conj()
            if leaf.is_neg():
                return torch._neg_view(self(torch._neg_view(leaf)))
            self._alive.append(leaf)
            flat = self._storage(leaf)
            return flat.as_strided(leaf.shape, leaf.stride(), leaf.storage_offset())
        if isinstance(leaf, torch.device):
            return torch.device(self._device)
        return leaf

    def _storage(self, tensor: torch.Tensor) -> torch.Tensor:
        key = (tensor.untyped_storage().data_ptr(), tensor.dtype)
        if key not in self._storages or key[0] == 0:
            whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
            self._storages[key] = whole.clone().to(self._device)
        return self._storages[key]


def is_random(function: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in function.tags or "empty" in function.__name__


def run(function: Any, args: Any, kwargs: Any, device: str) -> tuple[outcomes.Outcome, bool]:
    """The call with copies of its arguments: its results and what it has written, or its error; and
    whether that came after the call only."""
    args, kwargs = tree_map(_Carrier(device), (args, kwargs))
    writes = [
        args[place] if place < len(args) else kwargs.get(a.name)
        for place, a in enumerate(function._schema.arguments)
        if a.alias_info is not None and a.alias_info.is_write
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = outcomes.attempt(lambda: (function(*args, **kwargs), writes))
        if device == "cpu":
            return outcome, False
        later = outcomes.attempt(torch.npu.synchronize)
    if outcome.error is None and later.error is not None:
        return later, True
    return outcome, "aclrtSynchronize" in str(outcome.error)


def with_outputs(function: Any, kwargs: Any, outputs: list[torch.Tensor]) -> dict[str, Any]:
    return {**kwargs, **dict(zip(seeds.outputs(function), outputs, strict=True))}


def right_outputs(function: Any, call: seeds.Call) -> list[torch.Tensor] | None:
    """Outputs for the call as the CPU makes them, or None if it refuses the call."""
    names = seeds.outputs(function)
    if not names:
        return []
    other = seeds.functional(function)
    if other is not None:
        given, _ = run(other, call.args, call.kwargs, "cpu")
        if given.error is None:
            return [x for x in tree_leaves(given.value[0]) if isinstance(x, torch.Tensor)]
    for dtype in (torch.float32, torch.int64, torch.bool):
        empty = with_outputs(function, call.kwargs, [torch.empty(0, dtype=dtype) for _ in names])
        given, _ = run(function, call.args, empty, "cpu")
        if given.error is None:
            return [x for x in tree_leaves(given.value[1]) if isinstance(x, torch.Tensor)]
    return None


def has_cpu_kernel(outcome: outcomes.Outcome) -> bool:
    text = str(outcome.error)
    return "Could not run" not in text and "not implemented. You are likely" not in text


def difference(function: Any, args: Any, kwargs: Any, expected: outcomes.Outcome) -> str | None:
    """How npu's outcome is not the CPU's, or None.

    An error that needs the data may come late, and as a RuntimeError; npu may compute what the CPU
    has no kernel for, and refuse outputs that overlap.
    """
    if not has_cpu_kernel(expected):
        return None
    actual, late = run(function, args, kwargs, "npu")
    if isinstance(expected.error, NotImplementedError) and actual.error is None:
        return None
    if late and expected.error is not None:
        if any(word in str(expected.error) for word in DATA):
            return None
        return f"late: cpu gave {expected}, npu {actual}"
    if OVERLAP in str(actual.error) and not late:
        return None
    if isinstance(actual.error, torch.OutOfMemoryError) and type(expected.error) is RuntimeError:
        return None
    return outcomes.disagreement(expected, actual, "npu", values=not is_random(function))


def misplacement(function: Any, args: Any, kwargs: Any, expected: outcomes.Outcome) -> str | None:
    """Of a call whose tensors are on several devices: it raises RuntimeError at once or, where
    PyTorch allows it (a number, an index), gives the CPU's result."""
    actual, late = run(function, args, kwargs, "npu")
    if isinstance(actual.error, RuntimeError) and not late:
        return None
    if actual.error is not None:
        return f"{'late: ' if late else ''}npu gave {actual}"
    value = (actual.value[0], None)
    expected = outcomes.Outcome(value=(expected.value[0], None))
    return outcomes.disagreement(
        expected, outcomes.Outcome(value=value), "npu", values=not is_random(function)
    )
