"""The public names of `torch_npu` itself, each with the module that has it.

Operators of the namespace `npu` are published as functions of the package, under the name that
they have in `torch.ops.npu`, when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from torch_npu._init.core import lazy_names

# Modules that are attributes of the package without an import statement of the user's.
_SUBMODULES = ("npu", "utils")


def public_names() -> list[str]:
    """What `from torch_npu import *` gives."""
    return list(_SUBMODULES)


def publish(namespace: dict[str, Any]) -> None:
    """Adds the public names to `namespace`, the globals of the package."""
    for name in _SUBMODULES:
        namespace[name] = importlib.import_module(f"torch_npu.{name}")
    namespace["__getattr__"] = lazy_names.with_late_names(_operator)


def _operator(name: str) -> Any:
    """`torch_npu.<name>` for an operator of `torch.ops.npu`; `AttributeError` for anything else."""
    if name.startswith(("npu_", "_npu_")) or name in _OPERATORS_WITHOUT_PREFIX:
        import torch

        try:
            return getattr(torch.ops.npu, name)
        except AttributeError:
            raise AttributeError(
                f"module 'torch_npu' has no attribute '{name}': this version has no operator "
                f"'npu::{name}'. Compose it from PyTorch's own operators."
            ) from None
    raise AttributeError(f"module 'torch_npu' has no attribute '{name}'")


_OPERATORS_WITHOUT_PREFIX = frozenset(
    {"empty_with_format", "fast_gelu", "get_npu_format", "one_", "scatter_update"}
)
