"""Many small tensors as parts of a large one, so that one operator reaches them all."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def npu_combine_tensors(
    list_of_tensor: Sequence[torch.Tensor], require_copy_value: bool = True
) -> torch.Tensor | None:
    """A flat tensor of which the given ones become parts, one after the other.

    Each tensor keeps its identity and shape, and from now on its memory is the flat one's. With
    `require_copy_value=False` its values become undefined. `None` for no tensors or no elements.

    Raises `RuntimeError` for a tensor that is not on `npu`, not contiguous or of another dtype.
    """
    if not list_of_tensor:
        return None
    first = list_of_tensor[0]
    for tensor in list_of_tensor:
        if tensor is None:
            raise RuntimeError("tensors to combine must not be None")
        if tensor.device.type != "npu" or tensor.device != first.device:
            raise RuntimeError(f"tensors to combine must be on one npu, but got: {tensor.device}")
        if tensor.dtype != first.dtype:
            raise RuntimeError(
                f"tensors to combine must have one dtype, but got: {first.dtype}, {tensor.dtype}"
            )
        if not tensor.is_contiguous():
            raise RuntimeError("tensors to combine must be contiguous")
    total = sum(tensor.numel() for tensor in list_of_tensor)
    if total == 0:
        return None
    with torch.no_grad():
        if require_copy_value:
            combined = torch.cat([tensor.detach().view(-1) for tensor in list_of_tensor])
        else:
            combined = torch.empty(total, dtype=first.dtype, device=first.device)
    begin = 0
    for tensor in list_of_tensor:
        tensor.data = combined[begin : begin + tensor.numel()].view(tensor.shape)
        begin += tensor.numel()
    return combined


def get_part_combined_tensor(
    combined_tensor: torch.Tensor | None, index: int, size: int
) -> torch.Tensor | None:
    """`size` elements of a flat tensor from `index` on, sharing its memory; `None` for none.

    Raises `RuntimeError` for elements beyond its end.
    """
    if combined_tensor is None or size == 0:
        return None
    if index < 0 or index + size > combined_tensor.numel():
        raise RuntimeError(
            f"elements {index} to {index + size} are not within the {combined_tensor.numel()} of "
            "the combined tensor"
        )
    return combined_tensor.detach()[index : index + size]


def is_combined_tensor_valid(
    combined_tensor: torch.Tensor | None, list_of_tensor: Sequence[torch.Tensor | None]
) -> bool:
    """Whether every tensor still is a contiguous part of the combined one."""
    if not list_of_tensor:
        return True
    if combined_tensor is None:
        return False
    begin = combined_tensor.data_ptr()
    end = begin + combined_tensor.nbytes
    return all(
        tensor is not None and begin <= tensor.data_ptr() < end and tensor.is_contiguous()
        for tensor in list_of_tensor
    )
