"""The caching allocator as Python sees it."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path

import pytest
import torch

npu = torch.npu
_MEBIBYTE = 1 << 20
_QUANTITIES = (
    "allocation",
    "allocated_bytes",
    "segment",
    "reserved_bytes",
    "active",
    "active_bytes",
    "inactive_split",
    "inactive_split_bytes",
)


@pytest.fixture(autouse=True)
def _clean(empty_allocator: None) -> None:
    npu.reset_peak_memory_stats()


@pytest.mark.covers(
    "torch_npu.npu.memory_allocated",
    "torch_npu.npu.memory_reserved",
    "torch_npu.npu.max_memory_allocated",
)
def test_allocated_memory_follows_tensors() -> None:
    before = npu.memory_allocated()
    tensor = torch.empty(_MEBIBYTE, dtype=torch.uint8, device="npu")
    assert npu.memory_allocated() - before == _MEBIBYTE
    assert npu.memory_reserved() >= npu.memory_allocated()
    del tensor
    assert npu.memory_allocated() == before
    assert npu.max_memory_allocated() - before == _MEBIBYTE


@pytest.mark.covers("torch_npu.npu.max_memory_reserved", "torch_npu.npu.reset_peak_memory_stats")
def test_peak_is_reset_to_now() -> None:
    del_me = torch.empty(4 * _MEBIBYTE, dtype=torch.uint8, device="npu")
    del del_me
    assert npu.max_memory_allocated() > npu.memory_allocated()
    npu.reset_peak_memory_stats()
    assert npu.max_memory_allocated() == npu.memory_allocated()
    assert npu.max_memory_reserved() == npu.memory_reserved()


@pytest.mark.covers(
    "torch_npu.npu.reset_max_memory_allocated", "torch_npu.npu.reset_max_memory_cached"
)
@pytest.mark.parametrize("name", ["reset_max_memory_allocated", "reset_max_memory_cached"])
def test_older_names_reset_the_peaks(name: str) -> None:
    del_me = torch.empty(4 * _MEBIBYTE, dtype=torch.uint8, device="npu")
    del del_me
    getattr(npu, name)()
    assert npu.max_memory_allocated() == npu.memory_allocated()


def test_emptying_the_cache_waits_for_all_streams_of_the_device() -> None:
    gate, stream, event = npu.ExternalEvent(), npu.Stream(), npu.Event()
    gate.wait(stream)
    event.record(stream)
    opener = threading.Timer(0.1, gate.record)
    opener.start()
    assert not event.query()
    npu.empty_cache()
    assert event.query()
    opener.join()


@pytest.mark.covers("torch_npu.npu.empty_cache", "torch_npu.npu.empty_virt_addr_cache")
def test_cache_is_kept_until_emptied() -> None:
    tensor = torch.empty(32 * _MEBIBYTE, dtype=torch.uint8, device="npu")
    del tensor
    held = npu.memory_reserved()
    assert held >= 32 * _MEBIBYTE
    free_before, total = npu.mem_get_info()
    npu.empty_cache()
    assert npu.memory_reserved() <= held - 32 * _MEBIBYTE
    free_after, _ = npu.mem_get_info(0)
    assert free_after >= free_before + 32 * _MEBIBYTE
    assert 0 < free_after <= total
    npu.empty_virt_addr_cache()


@pytest.mark.covers("torch_npu.npu.memory_cached", "torch_npu.npu.max_memory_cached")
def test_older_names_of_reserved_memory() -> None:
    assert npu.memory_cached() == npu.memory_reserved()
    assert npu.max_memory_cached() == npu.max_memory_reserved()


@pytest.mark.covers("torch_npu.npu.memory_stats", "torch_npu.npu.memory_stats_as_nested_dict")
def test_stats_have_the_keys_of_cudas() -> None:
    torch.empty(1, device="npu")
    stats = npu.memory_stats()
    for quantity in _QUANTITIES:
        for pool in ("all", "large_pool", "small_pool"):
            for moment in ("current", "peak", "allocated", "freed"):
                assert f"{quantity}.{pool}.{moment}" in stats
    for key in ("num_alloc_retries", "num_ooms", "allocated_bytes.all.peak"):
        assert key in stats
    assert list(stats) == sorted(stats)
    nested = npu.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["peak"] == stats["allocated_bytes.all.peak"]
    assert (
        torch.accelerator.memory_stats()["allocated_bytes.all.current"]
        == (stats["allocated_bytes.all.current"])
    )


@pytest.mark.covers("torch_npu.npu.reset_accumulated_memory_stats")
def test_accumulated_counts_are_reset() -> None:
    torch.empty(1, device="npu")
    assert npu.memory_stats()["allocation.all.allocated"] > 0
    npu.reset_accumulated_memory_stats()
    assert npu.memory_stats()["allocation.all.allocated"] == 0


@pytest.mark.covers("torch_npu.npu.memory_summary")
def test_summary_shows_the_numbers() -> None:
    tensor = torch.empty(3 * _MEBIBYTE, dtype=torch.uint8, device="npu")
    table = npu.memory_summary()
    assert "Memory of npu:0" in table
    assert "Allocated memory" in table
    assert len({len(line) for line in table.splitlines()}) == 1
    short = npu.memory_summary(abbreviated=True)
    assert "large pool" in table
    assert "large pool" not in short
    del tensor


@pytest.mark.covers(
    "torch_npu.npu.set_per_process_memory_fraction", "torch_npu.npu.get_per_process_memory_fraction"
)
def test_fraction_limits_this_process() -> None:
    total = npu.mem_get_info()[1]
    try:
        npu.set_per_process_memory_fraction(0.001)
        assert npu.get_per_process_memory_fraction() == pytest.approx(0.001)
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(total // 500, dtype=torch.uint8, device="npu")
        torch.empty(total // 4000, dtype=torch.uint8, device="npu")
    finally:
        npu.set_per_process_memory_fraction(1.0)
    assert npu.get_per_process_memory_fraction() == 1.0


@pytest.mark.parametrize("fraction", [-0.1, 1.5])
def test_fraction_outside_of_the_range_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match=str(fraction)):
        npu.set_per_process_memory_fraction(fraction)


def test_fraction_must_be_a_float() -> None:
    with pytest.raises(TypeError, match="float"):
        npu.set_per_process_memory_fraction("1")


def test_more_than_the_device_has_is_an_error_and_less_works_afterwards() -> None:
    total = npu.mem_get_info()[1]
    with pytest.raises(torch.OutOfMemoryError, match=r"out of memory\..* NPU 0 has"):
        torch.empty(2 * total, dtype=torch.uint8, device="npu")
    assert torch.ones(4, device="npu").sum().item() == 4
    assert npu.memory_stats()["num_ooms"] > 0
    assert npu.OutOfMemoryError is torch.OutOfMemoryError


@pytest.mark.covers(
    "torch_npu.npu.caching_allocator_alloc", "torch_npu.npu.caching_allocator_delete"
)
def test_raw_memory_is_counted_and_given_back() -> None:
    before = npu.memory_allocated()
    address = npu.caching_allocator_alloc(_MEBIBYTE)
    assert address != 0
    assert npu.memory_allocated() - before == _MEBIBYTE
    npu.caching_allocator_delete(address)
    assert npu.memory_allocated() == before
    with pytest.raises(TypeError, match="stream must be"):
        npu.caching_allocator_alloc(8, stream="default")


@pytest.mark.covers("torch_npu.npu.memory_snapshot")
def test_snapshot_shows_a_tensors_block() -> None:
    tensor = torch.empty(_MEBIBYTE, dtype=torch.uint8, device="npu")
    blocks = [
        block
        for segment in npu.memory_snapshot()
        for block in segment["blocks"]
        if block["address"] == tensor.data_ptr()
    ]
    assert [block["state"] for block in blocks] == ["active_allocated"]
    assert blocks[0]["size"] >= _MEBIBYTE


def test_snapshot_is_written_as_a_pickle(tmp_path: Path) -> None:
    tensor = torch.empty(8, device="npu")
    path = tmp_path / "snapshot.pickle"
    npu.memory._dump_snapshot(str(path))
    written = pickle.loads(path.read_bytes())
    assert {"segments", "device_traces"} <= written.keys()
    assert any(segment["device"] == 0 for segment in written["segments"])
    del tensor


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"enabled": "most"}, "enabled"),
        ({"context": "most"}, "context"),
        ({"stacks": "c"}, "stacks"),
    ],
)
def test_history_refuses_unknown_choices(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        npu.memory._record_memory_history(**arguments)


@pytest.mark.covers("torch.npu.memory._record_memory_history")
def test_history_records_allocations_with_their_tracebacks() -> None:
    memory = npu.memory
    memory._record_memory_history(stacks="python", max_entries=1000, clear_history=True)
    try:
        tensor = torch.empty(3 * _MEBIBYTE, dtype=torch.uint8, device="npu")
        address = tensor.data_ptr()
        del tensor
        events = memory._snapshot()["device_traces"][0]
    finally:
        memory._record_memory_history(enabled=None)
    mine = [
        event
        for event in events
        if event["addr"] == address and not event["action"].startswith("segment")
    ]
    assert [event["action"] for event in mine] == ["alloc", "free_requested", "free_completed"]
    assert any(frame["filename"] == __file__ for frame in mine[0]["frames"])
    torch.empty(3 * _MEBIBYTE, dtype=torch.uint8, device="npu")
    assert len(memory._snapshot()["device_traces"][0]) <= len(events) + 1


def test_wrong_allocator_setting_is_named() -> None:
    with pytest.raises((RuntimeError, ValueError), match="no_such_key"):
        npu.memory._set_allocator_settings("no_such_key:1")


@pytest.mark.covers(
    "torch_npu.npu.host_empty_cache",
    "torch_npu.npu.host_memory_stats",
    "torch_npu.npu.reset_peak_host_memory_stats",
    "torch_npu.npu.reset_accumulated_host_memory_stats",
)
def test_pinned_memory_is_counted() -> None:
    npu.host_empty_cache()
    before = npu.host_memory_stats()
    pinned = torch.empty(_MEBIBYTE, dtype=torch.uint8).pin_memory()
    assert pinned.is_pinned()
    after = npu.host_memory_stats()
    key = "active_bytes.current"
    assert after[key] - before.get(key, 0) >= _MEBIBYTE
    npu.reset_peak_host_memory_stats()
    assert npu.host_memory_stats()["active_bytes.peak"] == after[key]
    npu.reset_accumulated_host_memory_stats()
    assert npu.host_memory_stats()["active_bytes.allocated"] == 0


@pytest.mark.covers("torch_npu.npu.host_memory_stats_as_nested_dict")
def test_pinned_memory_is_counted_by_kind() -> None:
    pinned = torch.empty(_MEBIBYTE, dtype=torch.uint8).pin_memory()
    nested = npu.host_memory_stats_as_nested_dict()
    assert nested["active_bytes"]["current"] >= pinned.nbytes
    assert nested["active_bytes"]["peak"] == npu.host_memory_stats()["active_bytes.peak"]


@pytest.mark.covers("torch_npu.npu.get_allocator_backend")
def test_allocator_has_a_name() -> None:
    assert npu.get_allocator_backend() == "native"


def test_queries_before_initialisation_start_no_device(run_python) -> None:
    code = """
import torch, torch_npu
assert torch.npu.memory_allocated() == 0 and torch.npu.memory_stats() == {}
torch.npu.empty_cache()
torch.npu.reset_peak_memory_stats()
assert not torch.npu.is_initialized()
print("none")
"""
    result = run_python(code)
    assert result.stdout.endswith("none\n"), result.stderr


def test_snapshot_is_read_by_pytorchs_memory_viewer() -> None:
    from torch.cuda import _memory_viz

    memory = npu.memory
    memory._record_memory_history(stacks="python", max_entries=1000, clear_history=True)
    try:
        kept = torch.empty(3 * _MEBIBYTE, dtype=torch.uint8, device="npu")
        del_me = torch.empty(5 * _MEBIBYTE, dtype=torch.uint8, device="npu")
        del del_me
        snapshot = memory._snapshot()
    finally:
        memory._record_memory_history(enabled=None)
    assert "MiB" in _memory_viz.segsum(snapshot)
    assert "alloc" in _memory_viz.trace(snapshot)
    assert "snapshot" in _memory_viz.trace_plot(snapshot)
    del kept
