"""How `torch.nn.parallel.comm`, and so `torch.nn.DataParallel`, moves tensors between devices.

Missing functions: PyTorch calls these of `torch._C`, which only a build with CUDA has. Devices are
indices of `npu` devices. Copies are asynchronous. Wrong arguments raise `RuntimeError`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from torch_npu._init.patches.patch_manager import PatchManager

Streams = Sequence[torch.Stream | None] | None


@PatchManager.register_patch("npu")
def copies_between_devices() -> None:
    """Adds the functions below to `torch._C` under the same names, where it lacks them."""
    functions: tuple[Callable[..., Any], ...] = (
        *(_broadcast, _broadcast_out, _broadcast_coalesced),
        *(_scatter, _scatter_out, _gather, _gather_out),
    )
    for function in functions:
        if not hasattr(torch._C, function.__name__):
            setattr(torch._C, function.__name__, function)


def _broadcast(tensor: Tensor, devices: Sequence[int]) -> list[Tensor]:
    """The tensor on each of the devices; on its own device it is itself."""
    return [tensor.to(_npu(device), non_blocking=True) for device in devices]


def _broadcast_out(tensor: Tensor, out: Sequence[Tensor]) -> list[Tensor]:
    for index, each in enumerate(out):
        _check_npu(each, f"out[{index}]")
        _check(
            each.shape == tensor.shape,
            f"broadcast: out[{index}] has shape {list(each.shape)}, expected {list(tensor.shape)}",
        )
    return [each.copy_(tensor, non_blocking=True) for each in out]


def _broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Sequence[int], buffer_size: int
) -> list[list[Tensor]]:
    """For each device the tensors on it. They lie on the first device. `buffer_size` is of no use
    here: a copy between devices costs the same in pieces."""
    _check(bool(devices), "broadcast_coalesced: expected at least one device")
    for index, tensor in enumerate(tensors):
        _check(
            tensor.device == _npu(devices[0]),
            f"broadcast_coalesced: tensors[{index}] is on {tensor.device}, expected "
            f"{_npu(devices[0])}, the first of the devices",
        )
    return [
        [tensor.to(_npu(device), non_blocking=True) for tensor in tensors] for device in devices
    ]


def _scatter(
    tensor: Tensor,
    devices: Sequence[int],
    chunk_sizes: Sequence[int] | None,
    dim: int,
    streams: Streams = None,
) -> list[Tensor]:
    """Chunks along `dim`, one for each device, each copied on its stream if it has one."""
    _check(bool(devices), "scatter: expected at least one device")
    if chunk_sizes is None:
        chunks = tensor.chunk(len(devices), dim)
    else:
        _check(
            len(chunk_sizes) == len(devices),
            f"scatter: {len(chunk_sizes)} chunk_sizes for {len(devices)} devices",
        )
        chunks = tensor.split_with_sizes(list(chunk_sizes), dim)
    scattered = []
    for chunk, device, stream in zip(chunks, devices, _each(streams, len(devices)), strict=False):
        with _on(stream, device):
            scattered.append(chunk.to(_npu(device), non_blocking=True))
    return scattered


def _scatter_out(
    tensor: Tensor, out: Sequence[Tensor], dim: int, streams: Streams = None
) -> list[Tensor]:
    _check(bool(out), "scatter: expected at least one tensor in out")
    for index, each in enumerate(out):
        _check_npu(each, f"out[{index}]")
    chunks = tensor.split_with_sizes([each.size(dim) for each in out], dim)
    for each, chunk, stream in zip(out, chunks, _each(streams, len(out)), strict=True):
        with _on(stream, each.device.index):
            each.copy_(chunk, non_blocking=True)
    return list(out)


def _gather(tensors: Sequence[Tensor], dim: int, destination: int | None = None) -> Tensor:
    """The tensors joined along `dim` on a device: -1 is the CPU, None the current device."""
    _check_parts(tensors)
    if destination == -1:
        device = torch.device("cpu")
    else:
        device = _npu(
            torch.accelerator.current_device_index() if destination is None else destination
        )
    return torch.cat([tensor.to(device) for tensor in tensors], dim)


def _gather_out(tensors: Sequence[Tensor], out: Tensor, dim: int) -> Tensor:
    _check_parts(tensors)
    sizes = [tensor.size(dim) for tensor in tensors]
    _check(
        out.size(dim) == sum(sizes),
        f"gather: out has size {out.size(dim)} at dimension {dim}, expected {sum(sizes)}",
    )
    for part, tensor in zip(out.split_with_sizes(sizes, dim), tensors, strict=True):
        part.copy_(tensor, non_blocking=True)
    return out


def _npu(index: int) -> torch.device:
    _check(
        0 <= index < torch.accelerator.device_count(),
        f"device {index}: there are {torch.accelerator.device_count()} npu devices",
    )
    return torch.device("npu", index)


def _each(streams: Streams, count: int) -> Sequence[torch.Stream | None]:
    if streams is None:
        return list(itertools.repeat(None, count))
    _check(len(streams) == count, f"{len(streams)} streams for {count} devices")
    return streams


def _on(stream: torch.Stream | None, device: int) -> contextlib.AbstractContextManager[Any]:
    if stream is None:
        return contextlib.nullcontext()
    _check(stream.device == _npu(device), f"the stream for npu:{device} belongs to {stream.device}")
    return stream


def _check_npu(tensor: Tensor, name: str) -> None:
    _check(tensor.device.type == "npu", f"{name} is on {tensor.device}, expected an npu device")


def _check_parts(tensors: Sequence[Tensor]) -> None:
    _check(bool(tensors), "gather: expected at least one tensor")
    for index, tensor in enumerate(tensors):
        _check_npu(tensor, f"tensors[{index}]")


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)
