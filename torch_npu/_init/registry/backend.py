"""Registers the device type `npu` and its module `torch.npu`."""

from __future__ import annotations

import torch

DEVICE_TYPE = "npu"


def register() -> None:
    """Names PyTorch's PrivateUse1 device `npu`, attaches `torch.npu` and generates the methods
    `Tensor.npu()`, `Module.npu()`, `PackedSequence.npu()`, `Storage.npu()` and their `is_npu`.
    """
    torch.utils.rename_privateuse1_backend(DEVICE_TYPE)
    # torch.npu needs the device type's name to exist, so it is imported only now.
    from torch_npu import npu

    torch._register_device_module(DEVICE_TYPE, npu)
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True,
        for_module=True,
        for_packed_sequence=True,
        for_storage=True,
        unsupported_dtype=[torch.quint8, torch.quint4x2, torch.quint2x4, torch.qint8, torch.qint32],
    )
