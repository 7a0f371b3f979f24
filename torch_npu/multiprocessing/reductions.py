"""What pickles `npu` tensors and events for another process of the same user and machine.

`rebuild_npu_tensor` takes what `torch.multiprocessing.reductions.reduce_tensor` returns for a
tensor on `npu`, in the order in which PyTorch has it for `cuda`: programs change single entries of
it, such as the device.
"""

from __future__ import annotations

import multiprocessing.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.multiprocessing import reductions as torch_reductions
from torch.multiprocessing.reductions import StorageWeakRef, shared_cache, storage_from_cache

from torch_npu import _C
from torch_npu.npu.streams import Event

# How long a process that ends waits for what it has sent to be received.
EXIT_PATIENCE_SECONDS = 30.0

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]

_torch_reduce_tensor = torch_reductions.reduce_tensor
_torch_reduce_storage = torch_reductions.reduce_storage


def share_storage(storage: torch.UntypedStorage) -> tuple[Any, ...]:
    """The description by which one other process can map the memory of `storage`.

    Returns the device index, the key of the allocation (`None` for a storage without bytes), the
    size and the offset in bytes, the owner and the number of the reference, and `b""` and `False`:
    there is no event to wait for, because this call waits for the current stream. Raises
    `RuntimeError` for a storage that is not on `npu`.
    """
    return _C._npu_shareStorage(storage)


def new_shared_storage(
    device: int,
    key: bytes,
    size: int,
    offset: int,
    owner: bytes,
    number: int,
    event_handle: bytes = b"",
    event_sync_required: bool = False,
) -> torch.UntypedStorage:
    """The storage that `share_storage` described, in the process that received the description.

    Raises `RuntimeError`, which names the key or the owner, where the key is wrong, the memory has
    been received and released already, or its owner has ended before this call.
    """
    if event_sync_required:
        rebuild_npu_event(torch.device("npu", device), event_handle).wait()
    return _C._npu_newSharedStorage(device, key, size, offset, owner, number)


def release_ipc_counter(owner: bytes, number: int, *, device: Any = None) -> None:
    """Tells the owner that one description has arrived whose memory is known here already."""
    _C._npu_releaseReference(owner, number)


def rebuild_npu_event(device: torch.device, handle: bytes) -> Event:
    """The event of another process whose `ipc_handle()` is `handle`."""
    return Event.from_ipc_handle(device, handle)


def reduce_event(event: Event) -> Reduced:
    """For events made with `interprocess=True`; `RuntimeError` for others."""
    return rebuild_npu_event, (event.device, event.ipc_handle())


def rebuild_npu_tensor(
    tensor_cls: type[torch.Tensor],
    tensor_size: torch.Size,
    tensor_stride: tuple[int, ...],
    tensor_offset: int,
    storage_cls: type[torch.UntypedStorage],
    dtype: torch.dtype,
    storage_device: int,
    storage_handle: bytes | None,
    storage_size_bytes: int,
    storage_offset_bytes: int,
    requires_grad: bool,
    ref_counter_handle: bytes,
    ref_counter_offset: int,
    event_handle: bytes,
    event_sync_required: bool,
) -> torch.Tensor:
    """The tensor in the process that received it, on `npu:<storage_device>` of that process.

    `tensor_offset` counts elements, `storage_size_bytes` and `storage_offset_bytes` bytes. Tensors
    that shared a storage where they came from share one here. Raises as `new_shared_storage` does.
    """
    if storage_handle is None or storage_size_bytes == 0:
        storage = torch.UntypedStorage(0, device=torch.device("npu", storage_device))
    else:
        place = (storage_handle, storage_offset_bytes, storage_size_bytes, storage_device)
        storage = storage_from_cache(storage_cls, place)
        if storage is None:
            storage = new_shared_storage(
                storage_device,
                storage_handle,
                storage_size_bytes,
                storage_offset_bytes,
                ref_counter_handle,
                ref_counter_offset,
                event_handle,
                event_sync_required,
            )
            shared_cache[place] = StorageWeakRef(storage)
        else:
            release_ipc_counter(ref_counter_handle, ref_counter_offset, device=storage_device)
    typed = torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
    tensor = torch._utils._rebuild_tensor(typed, tensor_offset, tensor_size, tensor_stride)
    if tensor_cls is torch.nn.Parameter:
        # Integer parameters exist only if they never require gradients.
        return torch.nn.Parameter(tensor, requires_grad=requires_grad)
    tensor.requires_grad = requires_grad
    return tensor


def reduce_tensor(tensor: torch.Tensor) -> Reduced:
    """PyTorch's function of this name, with `npu` tensors beside those that it knows.

    The parts of a sparse or nested tensor come here one by one. Raises `RuntimeError` for a tensor
    of a graph that is recorded for gradients.
    """
    if tensor.device.type != "npu" or tensor.is_nested or tensor.layout is not torch.strided:
        return _torch_reduce_tensor(tensor)
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "an npu tensor that is the result of recorded operators cannot be sent to another "
            "process, where no gradient can follow it: send tensor.detach()"
        )
    torch.utils.hooks.warn_if_has_hooks(tensor)
    storage = tensor.untyped_storage()
    device, key, size, offset, owner, number, event, wait = share_storage(storage)
    if key is not None:
        # What comes back to this process is the storage that it came from.
        shared_cache[(key, offset, size, device)] = StorageWeakRef(storage)
    return rebuild_npu_tensor, (
        type(tensor),
        tensor.size(),
        tensor.stride(),
        tensor.storage_offset(),
        type(storage),
        tensor.dtype,
        device,
        key,
        size,
        offset,
        tensor.requires_grad,
        owner,
        number,
        event,
        wait,
    )


def reduce_storage(storage: torch.UntypedStorage) -> Reduced:
    """PyTorch's function of this name, which refuses storages on a device."""
    if storage.device.type == "npu":
        raise RuntimeError("Cannot pickle an npu storage; send an npu tensor that uses it instead")
    return _torch_reduce_storage(storage)


def await_receivers(patience: float | None = None) -> int:
    """Waits until every tensor that this process has sent was received; returns how many were not.

    `patience` is in seconds, `EXIT_PATIENCE_SECONDS` by default. Warns about those that were not.
    """
    deadline = time.monotonic() + (EXIT_PATIENCE_SECONDS if patience is None else patience)
    while (unclaimed := _C._npu_unclaimedReferences()) and time.monotonic() < deadline:
        time.sleep(0.005)
    if unclaimed:
        warnings.warn(
            f"{unclaimed} npu tensors were sent and never received; when this process ends they "
            "cannot be received any more",
            stacklevel=2,
        )
    return unclaimed


def _await_receivers_at_exit(_: object = None) -> None:
    """Has this process wait at its exit, after its queues have been written out.

    Not only once it sends: a queue's thread may do so when the exit has begun.
    """
    multiprocessing.util.Finalize(None, await_receivers, exitpriority=-100)


_await_receivers_at_exit()
# A process that was started by fork has forgotten its parent's finalizers.
multiprocessing.util.register_after_fork(await_receivers, _await_receivers_at_exit)
