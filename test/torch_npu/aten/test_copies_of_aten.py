"""Copying under the names that Ascend's documentation lists."""

from __future__ import annotations

import pytest
import torch


@pytest.mark.covers("func: clone", "func: copy_", "func: resize_as_")
@pytest.mark.covers("func: _copy_from_and_resize")
def test_copies_of_aten() -> None:
    x = torch.arange(6.0, device="npu").view(2, 3).t()
    copied = x.clone()
    assert copied.data_ptr() != x.data_ptr()
    assert copied.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert x.clone(memory_format=torch.contiguous_format).is_contiguous()
    target = torch.empty(3, 2, dtype=torch.float16, device="npu")
    assert target.copy_(x) is target
    assert target.tolist() == copied.tolist()
    host = torch.empty(3, 2).copy_(x)
    assert host.tolist() == copied.tolist()
    small = torch.empty(1, device="npu")
    small.resize_as_(x).fill_(2)
    assert small.tolist() == [[2, 2]] * 3
    other = torch.empty(0)
    torch.ops.aten._copy_from_and_resize(x.contiguous(), other)
    assert other.tolist() == copied.tolist()
