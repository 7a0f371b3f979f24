"""Patches of PyTorch's storages."""

from __future__ import annotations

import torch

from torch_npu._init.patches.patch_manager import PatchManager


@PatchManager.register_patch("npu")
def storage_is_shared() -> None:
    """`is_shared()` is true for an `npu` storage, as it is for a `cuda` one.

    Missing hook: PyTorch answers true for CUDA and for mapped CPU memory only, and asks no
    backend, although `share_memory_()` accepts the memory of any device as it is.
    """
    native = torch.UntypedStorage.is_shared

    def is_shared(self: torch.UntypedStorage) -> bool:
        return self.device.type == "npu" or native(self)

    is_shared.__doc__ = native.__doc__
    torch.UntypedStorage.is_shared = is_shared  # type: ignore[assignment, method-assign]
