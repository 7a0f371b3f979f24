"""Public names that are imported when they are first asked for, and those that are not there."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

# What imports much, or is seldom used: the name, and the module that has it or that it is.
_LATE = {
    "HiFloat8Tensor": "torch_npu.utils.hifloat8",
    "contrib": "",
    "jit": "",
    "optim": "",
    "testing": "",
    "profiler": "",
}

# Modules of the official package that this one does not have, and what to use instead.
_MISSING = {
    "torch_npu.distributed": "torch.distributed; collectives of npu tensors are not there yet",
    "torch_npu.dynamo": "eager mode; torch.compile for npu is not there yet",
    "torch_npu.npu.npugraph_ex": "eager mode; captured graphs are not there yet",
}


def with_late_names(fallback: Callable[[str], Any]) -> Callable[[str], Any]:
    """The package's `__getattr__`: late names, then refusals that help, then `fallback`."""

    def get(name: str) -> Any:
        if name in _LATE:
            if not _LATE[name]:
                return importlib.import_module(f"torch_npu.{name}")
            return getattr(importlib.import_module(_LATE[name]), name)
        if f"torch_npu.{name}" in _MISSING:
            raise AttributeError(_refusal(f"torch_npu.{name}"))
        return fallback(name)

    return get


def _refusal(module: str) -> str:
    return f"this version of torch_npu has no module '{module}'. Use {_MISSING[module]}."


class _RefusingFinder(importlib.abc.MetaPathFinder):
    """Stands behind all others and says more than that a module was not found."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in _MISSING:
            raise ModuleNotFoundError(_refusal(fullname), name=fullname)
        return None


def refuse_missing_modules() -> None:
    """Makes importing a module that is not there an error that says what to use."""
    sys.meta_path.append(_RefusingFinder())
