"""Memory formats are noted per storage and reported; the data stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_npu
from torch_npu import Format


@pytest.mark.parametrize(
    ("dims", "format_"), [(1, Format.ND), (2, Format.ND), (4, Format.NCHW), (5, Format.NCDHW)]
)
def test_new_tensor_has_the_format_of_its_dimensions(dims: int, format_: Format) -> None:
    assert torch_npu.get_npu_format(torch.ones([2] * dims, device="npu")) == format_


@pytest.mark.covers("torch_npu.npu_format_cast", "func: npu_format_cast", "func: get_npu_format")
def test_cast_to_a_private_format_copies_and_keeps_the_values() -> None:
    x = torch.randn(4, 6, device="npu")
    cast = torch_npu.npu_format_cast(x, Format.FRACTAL_NZ)
    assert torch_npu.get_npu_format(cast) == 29
    assert torch_npu.get_npu_format(x) == 2
    assert cast.data_ptr() != x.data_ptr()
    assert torch.equal(cast.cpu(), x.cpu())
    assert torch.equal((cast @ cast.t()).cpu(), (x @ x.t()).cpu())


def test_views_and_parameters_share_the_format_of_the_storage() -> None:
    cast = torch_npu.npu_format_cast(torch.randn(4, 6, device="npu"), 29)
    assert torch_npu.get_npu_format(cast.t()) == 29
    assert torch_npu.get_npu_format(torch.nn.Parameter(cast)) == 29
    assert torch_npu.get_npu_format(cast + 1) == 2


def test_cast_between_plain_formats_shares_the_memory() -> None:
    x = torch.randn(1, 2, 3, 4, device="npu")
    cast = torch_npu.npu_format_cast(x, Format.ND)
    assert cast.data_ptr() == x.data_ptr()
    assert torch_npu.get_npu_format(cast) == Format.ND


@pytest.mark.covers(
    "func: npu_format_cast.Tensor", "func: npu_format_cast_", "func: npu_format_cast_.acl_format"
)
def test_cast_to_the_format_of_another_tensor() -> None:
    like = torch_npu.npu_format_cast(torch.ones(2, 2, device="npu"), 29)
    x = torch.ones(4, 4, device="npu")
    assert torch_npu.get_npu_format(torch_npu.npu_format_cast(x, like)) == 29
    assert torch_npu.npu_format_cast_(x, like) is x
    assert torch_npu.get_npu_format(x) == 29
    torch_npu.npu_format_cast_(x, 2)
    assert torch_npu.get_npu_format(x) == 2


@pytest.mark.parametrize("like", [False, True])
def test_cast_passes_the_gradient(like: bool) -> None:
    x = torch.randn(4, 6, device="npu", requires_grad=True)
    target = torch_npu.npu_format_cast(torch.ones(2, 2, device="npu"), 29) if like else 29
    (torch_npu.npu_format_cast(x, target) * 3).sum().backward()
    assert torch.equal(x.grad.cpu(), torch.full((4, 6), 3.0))
    assert x.is_leaf


def test_new_storage_at_an_old_address_has_no_format() -> None:
    for _ in range(200):
        cast = torch_npu.npu_format_cast(torch.ones(4, 4, device="npu"), 29)
        assert torch_npu.get_npu_format(cast) == 29
        del cast
        assert torch_npu.get_npu_format(torch.ones(4, 4, device="npu")) == 2


@pytest.mark.covers("func: empty_with_format")
def test_empty_tensor_with_a_format() -> None:
    x = torch_npu.empty_with_format((3, 5), dtype=torch.float16, device="npu", acl_format=29)
    assert (x.shape, x.dtype) == ((3, 5), torch.float16)
    assert torch_npu.get_npu_format(x) == 29


@pytest.mark.parametrize(
    ("dtype", "elements"), [(torch.float16, 2 * 16 * 32), (torch.int8, 2 * 16 * 32)]
)
@pytest.mark.covers("func: get_storage_size")
def test_storage_of_a_private_format_is_padded_to_tiles(dtype: torch.dtype, elements: int) -> None:
    x = torch.ones(2, 3, 17, device="npu").to(dtype)
    assert torch_npu.get_storage_size(x) == 2 * 3 * 17
    assert torch_npu.get_storage_size(torch_npu.npu_format_cast(x, 29)) == elements


def test_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="npu_format_cast: acl_format 77"):
        torch_npu.npu_format_cast(torch.ones(2, device="npu"), 77)


def test_cpu_tensor_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="npu_format_cast"):
        torch_npu.npu_format_cast(torch.ones(2), 29)


@pytest.mark.parametrize("target", ["ND", 2.5, None, [2]])
def test_target_that_is_no_format_is_refused_by_name(target: Any) -> None:
    x = torch.ones(2, 4, device="npu")
    with pytest.raises(TypeError, match=r"npu_format_cast\(\): expected .* 'acl_format'"):
        torch_npu.npu_format_cast(x, target)
    with pytest.raises(TypeError, match=r"npu_format_cast_\(\): expected .* 'src'"):
        torch_npu.npu_format_cast_(x, target)
