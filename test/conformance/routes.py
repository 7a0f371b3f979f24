"""Which way a call took through the backend: its table, a kernel by hand, or the CPU fallback."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

FALLBACK, TABLE, OWN = "fallback", "table", "own"


class Recorder(TorchDispatchMode):
    """Remembers the operators that reach a backend."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: set[Any] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        self.functions.add(func)
        return func(*args, **(kwargs or {}))

    def drew_random_numbers(self) -> bool:
        return any(
            torch.Tag.nondeterministic_seeded in getattr(function, "tags", ())
            for function in self.functions
        )


def fallback_counts(device: str) -> Counter[str]:
    """How often each operator fell back since the process began; nothing for the CPU itself."""
    counts = getattr(torch.npu, "fallback_counts", dict)  # the official torch_npu counts none
    return Counter(counts()) if device == "npu" else Counter()


@functools.cache
def from_table(name: str) -> bool:
    """Whether the operator's npu kernel was written by the operator table's generator."""
    for line in torch._C._dispatch_dump(name).splitlines():
        if line.startswith("PrivateUse1:"):
            return "generated/torch_npu/" in line
    return False


@functools.cache
def falls_back(name: str) -> bool:
    """Whether the dispatcher has nothing but the boxed fallback for the operator on npu."""
    table = torch._C._dispatch_dump_table(name)
    return any(
        line.startswith("PrivateUse1:") and "fallback.cpp" in line and "backend fallback" in line
        for line in table.splitlines()
    )


def kernel_route(recorder: Recorder) -> str:
    """Of a call that did not fall back."""
    names = (getattr(function, "name", str)() for function in recorder.functions)
    return TABLE if any(from_table(name) for name in names if "::" in name) else OWN
