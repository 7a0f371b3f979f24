"""The typed tensors and storages of old: `torch.npu.FloatTensor`, `torch.npu.FloatStorage` …

They are made when first asked for. New code uses `torch.tensor(..., dtype=, device="npu")`.
"""

from __future__ import annotations

from typing import Any

import torch

_DTYPES = {
    "BFloat16": torch.bfloat16,
    "Bool": torch.bool,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Double": torch.float64,
    "Float": torch.float32,
    "Half": torch.float16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Short": torch.int16,
}

TENSOR_NAMES = tuple(f"{prefix}Tensor" for prefix in _DTYPES)
STORAGE_NAMES = tuple(f"{prefix}Storage" for prefix in _DTYPES)

# Where PyTorch looks for the classes. A storage takes its device from the last part of it.
_MODULE = "torch.npu"


class _TensorType(type):
    """A class of which every `npu` tensor of one dtype counts as an instance."""

    dtype: torch.dtype
    _cpu_type: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, torch.Tensor)
            and instance.device.type == "npu"
            and instance.dtype == cls.dtype
        )

    def __call__(cls, *arguments: Any, **options: Any) -> torch.Tensor:
        if len(arguments) == 1 and isinstance(arguments[0], torch.Tensor):
            if not isinstance(arguments[0], cls):
                raise TypeError(f"expected a {cls.__name__}, but got: {arguments[0].type()}")
            return arguments[0].view_as(arguments[0])
        return cls._cpu_type(*arguments, **options).npu()


def make(name: str) -> Any:
    """The class of that name, one of `TENSOR_NAMES` and `STORAGE_NAMES`."""
    if name.endswith("Tensor"):
        # PyTorch recognises a type by the name of its class, dots included.
        members = {
            "dtype": _DTYPES[name.removesuffix("Tensor")],
            "is_cuda": False,
            "is_npu": True,
            "is_sparse": False,
            "_cpu_type": getattr(torch, name),
            "__module__": _MODULE,
            "__doc__": f"`npu` tensors of the type {name}, in the manner of `torch.cuda.{name}`.",
        }
        return _TensorType(f"torch.npu.{name}", (), members)
    dtype = _DTYPES[name.removesuffix("Storage")]
    storage = type(
        name,
        (torch.storage._LegacyStorage,),
        {
            "dtype": dtype,
            "_dtype": dtype,
            "__module__": _MODULE,
            "__doc__": f"An `npu` storage, in the manner of `torch.cuda.{name}`.",
        },
    )
    torch._storage_classes.add(storage)
    return storage
