"""The public names of `torch_npu` itself, each with the module that has it.

Operators of the namespaces `npu` and `atb` are published as functions of the package, under the
name that they have in `torch.ops`, when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from torch_npu._init.core import lazy_names

# Modules that are attributes of the package without an import statement of the user's.
_SUBMODULES = ("multiprocessing", "npu", "utils")

# Names of the package by the module that defines them.
_NAMES = {
    "torch_npu.npu.formats": ("Format", "npu_format_cast", "npu_format_cast_"),
}


def public_names() -> list[str]:
    """What `from torch_npu import *` gives."""
    return [*_SUBMODULES, *(name for names in _NAMES.values() for name in names)]


def publish(namespace: dict[str, Any]) -> None:
    """Adds the public names to `namespace`, the globals of the package."""
    for name in _SUBMODULES:
        namespace[name] = importlib.import_module(f"torch_npu.{name}")
    for module, names in _NAMES.items():
        loaded = importlib.import_module(module)
        namespace.update({name: getattr(loaded, name) for name in names})
    namespace["__getattr__"] = lazy_names.with_late_names(_operator)


def _operator(name: str) -> Any:
    """`torch_npu.<name>` for an operator of Ascend's; `AttributeError` for anything else."""
    from torch_npu._init.core import missing_operators, operators

    found = None if name.startswith("__") else operators.find(name)
    if found is not None:
        return found
    reason = missing_operators.refusal(name)
    raise AttributeError(
        f"module 'torch_npu' has no attribute '{name}'" + (f": {reason}" if reason else "")
    )
