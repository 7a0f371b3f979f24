"""Devices, factories, tensors, storages and modules."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

from torch_npu._init.patches.patch_manager import PatchManager
from torch_npu.contrib.transfer_to_npu.renaming import (
    GROUP,
    rename_arguments,
    renaming,
    stand_in,
    to_npu,
)

_LIKE = ("empty", "full", "ones", "rand", "randint", "randn", "zeros")
_BY_DEVICE = ("set_default_device", "get_device_module", "frombuffer")
_BY_DEVICE_TYPE = (
    "get_autocast_dtype",
    "is_autocast_available",
    "set_autocast_dtype",
    "set_autocast_enabled",
)


@PatchManager.register_patch(GROUP)
def device_and_generator() -> None:
    """`torch.device("cuda")` and `torch.Generator("cuda")`."""
    torch.device = stand_in(torch.device)  # type: ignore[misc]
    torch.Generator = stand_in(torch.Generator)  # type: ignore[misc]


@PatchManager.register_patch(GROUP)
def factories() -> None:
    """Functions that take a device: those that `torch.set_default_device` serves, and more."""
    from torch.utils._device import _device_constructors

    # Asked for, and so remembered, before any is replaced: PyTorch compares with its own functions.
    constructors = _device_constructors()
    for module in (torch, torch.fft, torch.nested):
        served = [name for name, value in vars(module).items() if _is_one_of(value, constructors)]
        for name in served:
            _replace_builtin(module, name, renaming(getattr(module, name)))
    others = (*(f"{name}_like" for name in _LIKE), *_BY_DEVICE, *_BY_DEVICE_TYPE)
    for name in others:
        if hasattr(torch, name):
            _replace_builtin(torch, name, renaming(getattr(torch, name)))
    rename_arguments(torch.nested, "as_nested_tensor")


def _is_one_of(value: Any, functions: set[Any]) -> bool:
    return callable(value) and getattr(value, "__hash__", None) is not None and value in functions


def _replace_builtin(module: Any, name: str, new: Callable[..., Any]) -> None:
    """Replaces a function, and tells TorchScript, if it has made its table, what it stands for."""
    builtins = sys.modules.get("torch.jit._builtins")
    if builtins is not None and builtins._builtin_table is not None:
        operator = builtins._find_builtin(getattr(module, name))
        if operator is not None:
            builtins._register_builtin(new, operator)
    setattr(module, name, new)


@PatchManager.register_patch(GROUP)
def autocast_state() -> None:
    """The questions about autocast whose device is `cuda` unless another is named."""
    native = torch.is_autocast_enabled
    torch.is_autocast_enabled = lambda device_type="npu": native(to_npu(device_type))
    torch.get_autocast_gpu_dtype = lambda: torch.get_autocast_dtype("npu")
    torch.set_autocast_gpu_dtype = lambda dtype: torch.set_autocast_dtype("npu", dtype)


@PatchManager.register_patch(GROUP)
def tensors() -> None:
    """Methods of tensors that take a device, `.cuda()` and `.is_cuda`."""
    tensor: Any = torch.Tensor
    tensor.cuda = renaming(tensor.npu)
    tensor.is_cuda = _is_npu("True if the tensor is on `npu`, which stands for `cuda`.")
    rename_arguments(
        tensor,
        "is_pinned",
        "new_empty",
        "new_empty_strided",
        "new_full",
        "new_ones",
        "new_tensor",
        "new_zeros",
        "pin_memory",
        "to",
    )
    tensor.type = _legacy_type(tensor.type)
    rename_arguments(torch, "set_default_tensor_type")
    torch.set_default_tensor_type = _legacy_type(torch.set_default_tensor_type)


def _is_npu(doc: str) -> property:
    return property(lambda self: self.device.type == "npu", doc=doc)


def _legacy_type(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with "torch.cuda.FloatTensor" and its like as those of `torch.npu`."""

    def rename(value: Any) -> Any:
        if isinstance(value, str) and value.startswith("torch.cuda."):
            return "torch.npu." + value[len("torch.cuda.") :]
        return value

    def renamed(*arguments: Any, **options: Any) -> Any:
        options = {name: rename(value) for name, value in options.items()}
        return function(*map(rename, arguments), **options)

    renamed.__doc__ = function.__doc__
    return renamed


@PatchManager.register_patch(GROUP)
def storages() -> None:
    """Storages: `.cuda()`, `.to()` and `.is_cuda`."""
    for storage in (torch.UntypedStorage, torch.TypedStorage):
        kind: Any = storage
        kind.cuda = renaming(kind.npu)
        kind.is_cuda = _is_npu("True if the storage is on `npu`, which stands for `cuda`.")
        rename_arguments(kind, "to")


@PatchManager.register_patch(GROUP)
def modules() -> None:
    """`Module.cuda()`, `.to()` and `.to_empty()`, and those of packed sequences."""
    module: Any = torch.nn.Module
    module.cuda = renaming(module.npu)
    rename_arguments(module, "to", "to_empty")
    packed: Any = PackedSequence
    packed.cuda = renaming(packed.npu)
    packed.is_cuda = property(lambda self: self.data.device.type == "npu")
    rename_arguments(packed, "to")
