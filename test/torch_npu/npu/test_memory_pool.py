"""Memory pools of the user's own."""

from __future__ import annotations

import gc
import threading

import pytest
import torch

npu = torch.npu
_SIZE = 3 << 20  # more than the allocator calls small, so that it gets a segment of its own


pytestmark = pytest.mark.usefixtures("empty_allocator")


def _tensor(size: int = _SIZE) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device="npu")


def _pools_of(segments: list[dict]) -> set[tuple[int, int]]:
    return {segment["segment_pool_id"] for segment in segments}


@pytest.mark.covers("torch_npu.npu.MemPool", "torch_npu.npu.use_mem_pool")
def test_pool_keeps_its_memory_to_itself() -> None:
    pool = npu.MemPool()
    assert pool.snapshot() == []
    with npu.use_mem_pool(pool):
        inside = _tensor()
        inside_small = _tensor(100)
    address, small_address = inside.data_ptr(), inside_small.data_ptr()
    assert _pools_of(pool.snapshot()) == {pool.id}
    assert sum(segment["active_size"] for segment in pool.snapshot()) >= _SIZE + 100
    del inside, inside_small
    outside, outside_small = _tensor(), _tensor(100)
    assert outside.data_ptr() != address
    assert outside_small.data_ptr() != small_address
    with npu.use_mem_pool(pool, "npu:0"):
        assert _tensor().data_ptr() == address
        assert _tensor(100).data_ptr() == small_address


def test_use_count_follows_object_and_uses() -> None:
    pool = npu.MemPool()
    assert pool.use_count() == 1
    with npu.use_mem_pool(pool):
        assert pool.use_count() == 2
    assert pool.use_count() == 1
    assert npu.MemPool().id != pool.id


def test_memory_goes_back_with_the_last_reference() -> None:
    before = npu.memory_reserved()
    pool = npu.MemPool()
    with npu.use_mem_pool(pool):
        tensor = _tensor()
    held = npu.memory_reserved()
    assert held > before
    del tensor
    npu.empty_cache()
    assert npu.memory_reserved() == held  # the pool still has it
    del pool
    gc.collect()
    assert npu.memory_reserved() == before


def test_tensor_outlives_its_pool() -> None:
    before = npu.memory_reserved()
    pool = npu.MemPool()
    with npu.use_mem_pool(pool):
        tensor = torch.full((_SIZE,), 7, dtype=torch.uint8, device="npu")
    del pool
    gc.collect()
    assert tensor.unique().tolist() == [7]
    del tensor
    npu.empty_cache()
    assert npu.memory_reserved() == before


def test_pool_is_left_after_an_error() -> None:
    pool = npu.MemPool()
    with pytest.raises(ZeroDivisionError), npu.use_mem_pool(pool):
        raise ZeroDivisionError
    kept = _tensor()
    assert pool.snapshot() == []
    assert pool.use_count() == 1
    with npu.use_mem_pool(pool):
        again = _tensor()
    assert again.data_ptr() != kept.data_ptr()


def test_inner_of_two_pools_counts() -> None:
    outer, inner = npu.MemPool(), npu.MemPool()
    with npu.use_mem_pool(outer):
        first = _tensor()
        with npu.use_mem_pool(inner):
            second = _tensor()
        third = _tensor()
    for tensor, pool in ((first, outer), (second, inner), (third, outer)):
        addresses = {block["address"] for part in pool.snapshot() for block in part["blocks"]}
        assert tensor.data_ptr() in addresses


def test_only_the_calling_thread_uses_the_pool() -> None:
    pool, others = npu.MemPool(), []
    with npu.use_mem_pool(pool):
        thread = threading.Thread(target=lambda: others.append(_tensor()))
        thread.start()
        thread.join()
    assert len(others) == 1
    assert pool.snapshot() == []


def test_threads_use_a_pool_each_at_once() -> None:
    barrier = threading.Barrier(2, timeout=60)
    wrong: list[tuple[int, int]] = []

    def use() -> None:
        pool = npu.MemPool()
        with npu.use_mem_pool(pool):
            barrier.wait()
            tensors = [_tensor(1 << (10 + i)) for i in range(12)]
            barrier.wait()
        addresses = {block["address"] for part in pool.snapshot() for block in part["blocks"]}
        wrong.extend(pool.id for tensor in tensors if tensor.data_ptr() not in addresses)
        if len(pool.snapshot()) == 0:
            wrong.append(pool.id)

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_pool_is_used_once_at_a_time() -> None:
    pool = npu.MemPool()
    with npu.use_mem_pool(pool):
        with pytest.raises(RuntimeError, match="already"), npu.use_mem_pool(pool):
            pass
        assert pool.use_count() == 2
        tensor = _tensor()
    assert tensor.data_ptr() == pool.snapshot()[0]["address"]


def test_memory_used_on_another_stream_comes_back_within_the_use() -> None:
    pool, stream = npu.MemPool(), npu.Stream()
    with npu.use_mem_pool(pool):
        tensor = _tensor()
        address = tensor.data_ptr()
        tensor.record_stream(stream)
        with npu.stream(stream):
            tensor.fill_(1)
        del tensor
        stream.synchronize()
        assert _tensor().data_ptr() == address


def test_cached_memory_makes_room_for_a_pool() -> None:
    total = npu.mem_get_info()[1]
    size = 256 << 20
    cached = _tensor(size)
    npu.set_per_process_memory_fraction((npu.memory_reserved() + size // 2) / total)
    try:
        del cached
        pool = npu.MemPool()
        with npu.use_mem_pool(pool):
            tensor = _tensor(size)
            assert pool.snapshot()[0]["total_size"] >= size
            with pytest.raises(torch.OutOfMemoryError):
                _tensor(size)
        del tensor
    finally:
        npu.set_per_process_memory_fraction(1.0)


@pytest.mark.skipif(npu.device_count() < 2, reason="needs two devices")
def test_pool_serves_several_devices() -> None:
    pool = npu.MemPool()
    before = npu.memory_reserved(1)
    with npu.use_mem_pool(pool, 1):
        tensor = torch.ones(_SIZE, dtype=torch.uint8, device="npu:1")
        here = _tensor()
    assert {segment["device"] for segment in pool.snapshot()} == {1}
    assert pool.use_count() == 1
    del tensor, here, pool
    gc.collect()
    npu.empty_cache()
    assert npu.memory_reserved(1) <= before


def test_wrong_device_is_named() -> None:
    with pytest.raises(RuntimeError, match="99"), npu.use_mem_pool(npu.MemPool(), 99):
        pass
    with pytest.raises(ValueError, match="cpu"), npu.use_mem_pool(npu.MemPool(), "cpu"):
        pass


def test_pool_may_end_with_the_process(run_python) -> None:
    code = """
import torch, torch_npu
pool = torch.npu.MemPool()
with torch.npu.use_mem_pool(pool):
    kept = torch.ones(5, device="npu")
entered = torch.npu.use_mem_pool(torch.npu.MemPool())
entered.__enter__()
late = torch.ones(5, device="npu")
print(kept.sum().item() + late.sum().item())
"""
    result = run_python(code)
    assert (result.stdout, result.returncode) == ("10.0\n", 0), result.stderr
    assert result.stderr == ""


@pytest.mark.parametrize(
    "call",
    [
        lambda: npu.MemPool(use_on_oom=True),
        lambda: npu.MemPool(no_split=True),
    ],
)
def test_missing_allocator_features_say_what_to_use(call) -> None:
    with pytest.raises(NotImplementedError, match="not available"):
        call()
