"""Ascend's operators that cut out, turn and make tensors."""

from __future__ import annotations

import pytest
import torch

import torch_npu


@pytest.mark.covers("torch_npu.npu_slice")
def test_slice_takes_a_size_from_an_offset() -> None:
    x = torch.arange(20.0).view(4, 5)
    part = torch_npu.npu_slice(x.npu(), [1, 2], [2, 3])
    assert torch.equal(part.cpu(), x[1:3, 2:5])


@pytest.mark.covers("torch_npu.npu_transpose")
def test_transpose_orders_the_dimensions_anew() -> None:
    x = torch.arange(24.0).view(2, 3, 4)
    turned = torch_npu.npu_transpose(x.npu(), (2, 0, 1))
    assert turned.is_contiguous()
    assert torch.equal(turned.cpu(), x.permute(2, 0, 1))


@pytest.mark.covers("func: unsafe_empty_with_format")
def test_unsafe_empty_has_its_size_dtype_and_format() -> None:
    x = torch.ops.npu.unsafe_empty_with_format(
        [3, 5], dtype=torch.float16, device="npu", acl_format=29
    )
    assert (x.shape, x.dtype, x.device.type) == ((3, 5), torch.float16, "npu")
    assert torch_npu.get_npu_format(x) == 29
