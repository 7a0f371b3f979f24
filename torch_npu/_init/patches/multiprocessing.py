"""Patches that let `torch.multiprocessing` pass `npu` tensors and events."""

from __future__ import annotations

import multiprocessing.reduction

import torch
from torch.multiprocessing import reductions as torch_reductions

from torch_npu._init.patches.patch_manager import PatchManager


@PatchManager.register_patch("multiprocessing")
def storage_sharing_methods() -> None:
    """The storages' methods that describe `npu` memory for another process, and map it there.

    Missing hook: PyTorch has such methods for `cuda` and for CPU memory by name only.
    """
    from torch_npu.multiprocessing import reductions

    storage = torch.UntypedStorage
    storage._share_npu_ = reductions.share_storage  # type: ignore[attr-defined]
    storage._new_shared_npu = staticmethod(reductions.new_shared_storage)  # type: ignore[attr-defined]
    storage._release_ipc_counter_npu = staticmethod(  # type: ignore[attr-defined]
        reductions.release_ipc_counter
    )


@PatchManager.register_patch("multiprocessing")
def reductions() -> None:
    """Pickling of `npu` tensors for another process.

    Missing hook: PyTorch's reductions choose by device type among those that they know, and a type
    is registered for all devices at once. The functions call PyTorch's own for other devices.
    """
    from torch_npu.multiprocessing import reductions as ours
    from torch_npu.npu.streams import Event

    torch_reductions.reduce_tensor = ours.reduce_tensor
    torch_reductions.reduce_storage = ours.reduce_storage
    # As at torch's own import, with these two for the types that it registered then.
    torch_reductions.init_reductions()
    multiprocessing.reduction.register(Event, ours.reduce_event)
