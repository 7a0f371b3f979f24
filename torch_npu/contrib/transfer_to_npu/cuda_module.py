"""`torch.cuda` with the functions and classes of `torch.npu`."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import torch

from torch_npu._init.patches.patch_manager import PatchManager
from torch_npu.contrib.transfer_to_npu.renaming import GROUP

# What PyTorch itself, and libraries on it, call of `torch.cuda` without a public name.
_PRIVATE = (
    "_DeviceGuard",
    "_exchange_device",
    "_get_device_index",
    "_is_in_bad_fork",
    "_lazy_call",
    "_lazy_init",
    "_maybe_exchange_device",
    "_record_memory_history",
    "_dump_snapshot",
    "_snapshot",
)

# torch.cuda's name -> that of torch.npu, where it is not the same.
_RENAMED = {
    "CUDAGraph": "NPUGraph",
    "CUDAPluggableAllocator": "NPUPluggableAllocator",
}

# The modules of torch.cuda whose names are also those of a module of torch.npu.
_MODULES = ("amp", "amp.autocast_mode", "amp.grad_scaler", "graphs", "memory", "random", "streams")


@PatchManager.register_patch(GROUP)
def cuda_functions() -> None:
    """Every name of `torch.cuda` that `torch.npu` has too, in the module and in those below it."""
    npu: Any = torch.npu  # type: ignore[attr-defined]
    _overwrite(torch.cuda, npu)
    for name in _MODULES:
        ours = getattr(npu, name.split(".")[0])
        _overwrite(importlib.import_module(f"torch.cuda.{name}"), ours)
    # A state and not an object: torch.npu makes the generators when they are first asked for.
    if "default_generators" in vars(torch.cuda):
        del torch.cuda.default_generators
    _ask_npu_for_the_rest(npu)


def _overwrite(module: ModuleType, ours: ModuleType) -> None:
    public = [name for name in vars(module) if not name.startswith("_")]
    for name in (*public, *(name for name in _PRIVATE if name in vars(module))):
        new = _find(ours, _RENAMED.get(name, name))
        if new is not None and not isinstance(new, ModuleType):
            setattr(module, name, new)


def _find(ours: ModuleType, name: str) -> Any:
    """A function or class that `ours` has under that name, or `None`."""
    if name == "default_generators":
        return None
    found = getattr(ours, name, None)
    return found if callable(found) else None


def _ask_npu_for_the_rest(npu: Any) -> None:
    """`torch.cuda.X` for what only `torch.npu` has."""

    def missing(name: str) -> Any:
        if not name.startswith("__"):
            try:
                return getattr(npu, name)
            except AttributeError:
                pass
        raise AttributeError(f"neither 'torch.cuda' nor 'torch.npu' has an attribute '{name}'")

    torch.cuda.__getattr__ = missing  # type: ignore[method-assign]


@PatchManager.register_patch(GROUP)
def nvtx() -> None:
    """Ranges and marks of `torch.cuda.nvtx` become those of `torch.npu.mstx`."""
    from torch.cuda import nvtx

    mstx: Any = torch.npu.mstx  # type: ignore[attr-defined]
    nvtx.range_push = lambda msg: mstx.range_push(msg)
    nvtx.range_pop = lambda: mstx.range_pop()
    nvtx.range_start = lambda msg: mstx.range_start(msg)
    nvtx.range_end = lambda range_id: mstx.range_end(range_id)
    nvtx.mark = lambda msg: mstx.mark(msg)
