"""Tensor.copy_ and Tensor.to between host and npu, and on the npu."""

from __future__ import annotations

import itertools

import pytest
import torch

import torch_npu  # noqa: F401

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
    torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
]  # fmt: skip
LARGE = 1 << 18


def npu_devices() -> list[str]:
    if torch.npu.device_count() < 2:
        pytest.skip("needs two devices")
    return ["npu:0", "npu:1"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip_of_every_dtype(dtype: torch.dtype) -> None:
    source = torch.arange(12).reshape(3, 4).to(dtype)
    there = source.to("npu")
    assert there.dtype == dtype
    assert torch.equal(there.cpu(), source)


@pytest.mark.parametrize("size", [0, 1, 3, 1000, LARGE])
def test_round_trip_of_sizes_around_the_staging_limit(size: int) -> None:
    source = torch.randn(size)
    assert torch.equal(source.to("npu").cpu(), source)


@pytest.mark.parametrize("non_blocking", [False, True])
@pytest.mark.parametrize("size", [16, LARGE])
def test_source_may_change_after_a_copy_from_pageable_memory(size: int, non_blocking: bool) -> None:
    source = torch.ones(size)
    there = source.to("npu", non_blocking=non_blocking)
    source.fill_(2)
    assert torch.equal(there.cpu(), torch.ones(size))


def layouts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The same 4x6 values, laid out differently."""
    padded = torch.zeros(8, 12, dtype=tensor.dtype, device=tensor.device)
    strided = padded[::2, ::2]
    strided.copy_(tensor)
    transposed = torch.empty(6, 4, dtype=tensor.dtype, device=tensor.device).t()
    transposed.copy_(tensor)
    return [tensor, strided, transposed]


@pytest.mark.parametrize("src_layout", range(3))
@pytest.mark.parametrize("dst_layout", range(3))
@pytest.mark.parametrize("dst_dtype", [torch.float32, torch.float64, torch.int32])
@pytest.mark.parametrize("route", ["cpu-npu", "npu-cpu", "npu-npu", "npu:0-npu:1"])
def test_copy_between_layouts_and_dtypes(
    src_layout: int, dst_layout: int, dst_dtype: torch.dtype, route: str
) -> None:
    if route == "npu:0-npu:1":
        npu_devices()
    src_device, dst_device = route.split("-")
    values = torch.arange(24.0).reshape(4, 6)
    src = layouts(values.to(src_device))[src_layout]
    dst = layouts(torch.zeros(4, 6, dtype=dst_dtype, device=dst_device))[dst_layout]
    dst.copy_(src)
    assert dst.device.type == dst_device.split(":")[0]
    assert torch.equal(dst.cpu(), values.to(dst_dtype))


@pytest.mark.parametrize("route", ["cpu-npu", "npu-cpu", "npu-npu", "npu:0-npu:1"])
def test_copy_broadcasts(route: str) -> None:
    if route == "npu:0-npu:1":
        npu_devices()
    src_device, dst_device = route.split("-")
    src = torch.tensor([1.0, 2.0, 3.0]).to(src_device)
    dst = torch.zeros(2, 2, 3, device=dst_device)
    dst.copy_(src)
    assert dst.cpu().tolist() == [[[1, 2, 3]] * 2] * 2


def test_copy_of_sizes_that_do_not_broadcast_raises() -> None:
    with pytest.raises(RuntimeError):
        torch.zeros(2, 2, device="npu").copy_(torch.zeros(3))


@pytest.mark.parametrize("route", ["cpu-npu", "npu-cpu", "npu-npu", "npu:0-npu:1"])
@pytest.mark.parametrize(
    ("conjugate_src", "conjugate_dst"), list(itertools.product([False, True], repeat=2))
)
def test_copy_of_conjugated_views(route: str, conjugate_src: bool, conjugate_dst: bool) -> None:
    if route == "npu:0-npu:1":
        npu_devices()
    src_device, dst_device = route.split("-")
    values = torch.tensor([1 + 2j, 3 - 4j])
    src = values.to(src_device)
    expected = torch.zeros(2, dtype=torch.complex64)
    dst = expected.to(dst_device, copy=True)
    (dst.conj() if conjugate_dst else dst).copy_(src.conj() if conjugate_src else src)
    (expected.conj() if conjugate_dst else expected).copy_(
        values.conj() if conjugate_src else values
    )
    assert torch.equal(dst.cpu(), expected)


@pytest.mark.parametrize("route", ["cpu-npu", "npu-cpu", "npu-npu"])
def test_copy_of_negated_view(route: str) -> None:
    src_device, dst_device = route.split("-")
    negated = torch.tensor([1 + 2j, 3 - 4j]).to(src_device).conj().imag
    assert negated.is_neg()
    dst = torch.empty(2, device=dst_device).copy_(negated)
    assert dst.cpu().tolist() == [-2, 4]


def test_pinned_copies_run_in_both_directions() -> None:
    source = torch.randn(LARGE).pin_memory()
    assert source.is_pinned()
    target = torch.empty(LARGE).pin_memory()
    there = source.to("npu", non_blocking=True)
    target.copy_(there, non_blocking=True)
    torch.npu.synchronize()
    assert torch.equal(target, source)


def test_pinned_memory_is_told_from_pageable_memory() -> None:
    torch.empty(1, device="npu")
    assert not torch.ones(4).is_pinned()
    assert torch.ones(4).pin_memory().is_pinned()


def test_pinned_block_is_not_reused_while_a_copy_reads_it() -> None:
    expected = []
    results = []
    for value in range(20):
        staging = torch.full((LARGE,), float(value)).pin_memory()
        results.append(staging.to("npu", non_blocking=True))
        expected.append(float(value))
        del staging
    assert [result[-1].item() for result in results] == expected


def test_copy_to_itself_changes_nothing() -> None:
    tensor = torch.arange(4.0, device="npu")
    tensor.copy_(tensor)
    tensor.copy_(tensor[:])
    assert tensor.cpu().tolist() == [0, 1, 2, 3]


def test_partly_overlapping_copy_is_refused() -> None:
    tensor = torch.arange(4.0, device="npu")
    with pytest.raises(RuntimeError, match="single memory location"):
        tensor[1:].copy_(tensor[:-1])


def test_copy_to_an_expanded_tensor_is_refused() -> None:
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.zeros(1, device="npu").expand(4).copy_(torch.ones(4))


def test_copy_between_devices_follows_queued_work() -> None:
    first, second = npu_devices()
    source = torch.zeros(LARGE, device=first)
    for _ in range(8):
        source.add_(1)
    there = source.to(second)
    there.add_(1)
    source.fill_(-1)
    assert there.device == torch.device(second)
    assert torch.equal(there.cpu(), torch.full((LARGE,), 9.0))


def test_clone_keeps_dense_strides() -> None:
    tensor = torch.arange(6.0, device="npu").reshape(2, 3).t()
    assert tensor.clone().stride() == tensor.stride()
    assert torch.equal(tensor.clone().cpu(), tensor.cpu())


def test_to_with_memory_format() -> None:
    source = torch.randn(2, 3, 4, 5)
    there = source.to("npu", memory_format=torch.channels_last)
    assert there.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(there.cpu(), source)


def test_gradient_crosses_devices() -> None:
    leaf = torch.ones(3, requires_grad=True)
    (leaf.to("npu") * 2).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.device.type == "cpu"
    assert leaf.grad.tolist() == [2, 2, 2]


def test_sparse_tensor_moves_with_its_parts() -> None:
    sparse = torch.eye(3).to_sparse()
    there = sparse.to("npu")
    assert there.device.type == "npu"
    assert there.layout == torch.sparse_coo
    assert there._values().device.type == "npu"
    assert torch.equal(there.cpu().to_dense(), torch.eye(3))
