"""Streams and events."""

from __future__ import annotations

import ctypes
import threading

import pytest
import torch

npu = torch.npu


@pytest.mark.covers("torch_npu.npu.current_stream", "torch_npu.npu.default_stream")
def test_default_stream_is_current_at_first() -> None:
    assert npu.current_stream() == npu.default_stream()
    assert npu.current_stream().device == torch.device("npu:0")
    assert npu.current_stream("npu:0") == npu.current_stream(0)


def test_context_selects_and_restores_a_stream() -> None:
    stream = npu.Stream()
    assert stream != npu.default_stream()
    with npu.stream(stream) as nothing:
        assert nothing is None
        assert npu.current_stream() == stream
        with npu.stream(None):
            assert npu.current_stream() == stream
    assert npu.current_stream() == npu.default_stream()


@pytest.mark.skipif(npu.device_count() < 2, reason="needs two devices")
def test_context_selects_the_streams_device_and_restores_both() -> None:
    other = npu.Stream(device=1)
    assert other.device == torch.device("npu:1")
    with npu.stream(other):
        assert npu.current_device() == 1
        assert npu.current_stream() == other
    assert npu.current_device() == 0
    assert npu.current_stream(1) == npu.default_stream(1)


@pytest.mark.covers("torch_npu.npu.set_stream")
def test_set_stream_selects_until_the_next() -> None:
    stream = npu.Stream()
    npu.set_stream(stream)
    try:
        assert npu.current_stream() == stream
        npu.set_stream(None)
        assert npu.current_stream() == stream
    finally:
        npu.set_stream(npu.default_stream())
    assert npu.current_stream() == npu.default_stream()


def test_equal_streams_have_equal_hashes() -> None:
    stream = npu.Stream()
    again = npu.Stream(
        stream_id=stream.stream_id,
        device_index=stream.device_index,
        device_type=stream.device_type,
    )
    assert again == stream
    assert hash(again) == hash(stream)
    assert stream != object()


def test_stream_is_a_torch_stream_with_a_handle() -> None:
    stream = npu.Stream()
    assert isinstance(stream, torch.Stream)
    assert stream.npu_stream != 0
    assert isinstance(stream._as_parameter_, ctypes.c_void_p)
    assert f"{stream.npu_stream:#x}" in repr(stream)


@pytest.mark.covers("torch_npu.npu.ExternalStream", "torch_npu.npu.Stream.synchronize")
def test_external_stream_is_the_stream_of_that_handle() -> None:
    stream = npu.Stream()
    external = npu.ExternalStream(stream.npu_stream)
    assert external.npu_stream == stream.npu_stream
    with npu.stream(external):
        value = torch.ones(3, device="npu") + 1
    external.synchronize()
    assert value.tolist() == [2, 2, 2]


@pytest.mark.covers("torch_npu.npu.Stream.wait_stream", "torch_npu.npu.Event.wait")
def test_streams_wait_for_each_other() -> None:
    first, second = npu.Stream(), npu.Stream()
    value = torch.zeros(1 << 16, device="npu")
    first.wait_stream(npu.current_stream())
    with npu.stream(first):
        for _ in range(100):
            value.add_(1)
    second.wait_stream(first)
    with npu.stream(second):
        value.mul_(2)
    second.synchronize()
    assert second.query()
    assert value.cpu().unique().tolist() == [200]


@pytest.mark.covers(
    "torch_npu.npu.Stream.record_event",
    "torch_npu.npu.Stream.wait_event",
    "torch_npu.npu.Event.query",
    "torch_npu.npu.Event.synchronize",
    "torch_npu.npu.Event.record",
    "torch_npu.npu.Event",
)
def test_event_orders_two_streams() -> None:
    stream = npu.Stream()
    value = torch.zeros(1 << 16, device="npu")
    stream.wait_stream(npu.current_stream())
    with npu.stream(stream):
        for _ in range(100):
            value.add_(1)
        event = stream.record_event()
    npu.current_stream().wait_event(event)
    assert (value + 1).cpu().unique().tolist() == [101]
    event.synchronize()
    assert event.query()


@pytest.mark.covers("torch_npu.npu.Event.elapsed_time")
def test_event_measures_time_in_milliseconds() -> None:
    begin, end = npu.Event(enable_timing=True), npu.Event(enable_timing=True)
    begin.record()
    for _ in range(20):
        torch.ones(1 << 18, device="npu").mul_(2)
    end.record(npu.current_stream())
    end.synchronize()
    assert 0 < begin.elapsed_time(end) < 60_000


@pytest.mark.parametrize("first_is_done", [False, True])
def test_elapsed_time_waits_for_both_events(first_is_done: bool) -> None:
    gate, stream = npu.ExternalEvent(), npu.Stream()
    begin, end = npu.Event(enable_timing=True), npu.Event(enable_timing=True)
    if not first_is_done:
        gate.wait(stream)
    begin.record(stream)
    if first_is_done:
        begin.synchronize()
        gate.wait(stream)
    end.record(stream)
    opener = threading.Timer(0.1, gate.record)
    opener.start()
    assert not end.query()
    assert begin.elapsed_time(end) >= 0
    assert begin.query()
    assert end.query()
    opener.join()


def test_elapsed_time_lets_other_threads_run() -> None:
    # The gate is opened by Python code, which a wait that holds the interpreter would shut out.
    gate = npu.ExternalEvent()
    events = [npu.Event(enable_timing=True) for _ in range(2)]
    gate.wait()
    for event in events:
        event.record()
    opened = []
    opener = threading.Timer(0.1, lambda: (opened.append(True), gate.record(npu.Stream())))
    opener.start()
    assert events[1].elapsed_time(events[0]) <= 0
    assert opened
    opener.join()


@pytest.mark.covers("torch_npu.npu.Event.recorded_time")
def test_recorded_times_differ_by_the_elapsed_time() -> None:
    begin, end = npu.Event(enable_timing=True), npu.Event(enable_timing=True)
    begin.record()
    for _ in range(20):
        torch.ones(1 << 18, device="npu").mul_(2)
    end.record()
    microseconds = end.recorded_time() - begin.recorded_time()
    assert end.query()
    assert microseconds == pytest.approx(begin.elapsed_time(end) * 1000, abs=2)
    for event in (npu.Event(), npu.Event(enable_timing=True), npu.Event(interprocess=True)):
        with pytest.raises(ValueError, match="enable_timing=True and recorded"):
            event.recorded_time()


@pytest.mark.covers("torch_npu.npu.Event.ipc_handle", "torch_npu.npu.Event.from_ipc_handle")
def test_event_is_opened_by_its_handle() -> None:
    gate, stream = npu.ExternalEvent(), npu.Stream()
    event = npu.Event(interprocess=True)
    gate.wait(stream)
    event.record(stream)
    opened = npu.Event.from_ipc_handle(torch.device("npu:0"), event.ipc_handle())
    assert not opened.query()
    gate.record()
    opened.synchronize()
    assert event.query()
    with pytest.raises(RuntimeError, match="interprocess=True"):
        npu.Event().ipc_handle()


def test_event_without_timing_cannot_measure() -> None:
    begin, end = npu.Event(), npu.Event()
    begin.record()
    end.record()
    with pytest.raises((RuntimeError, ValueError)):
        begin.elapsed_time(end)


def test_event_never_recorded_is_done() -> None:
    event = npu.Event()
    assert isinstance(event, torch.Event)
    assert event.query()
    event.synchronize()
    assert repr(event) == "<torch.npu.Event uninitialized>"
    event.record()
    assert f"{event.npu_event:#x}" in repr(event)


def test_torch_stream_and_event_work_with_ours() -> None:
    stream = torch.Stream(device="npu")
    event = torch.Event(device="npu")
    with npu.stream(stream):
        value = torch.ones(8, device="npu") * 3
        event.record(stream)
    npu.current_stream().wait_event(event)
    assert value.sum().item() == 24


def test_data_preprocess_stream_is_refused_only_when_asked_for() -> None:
    stream = npu.Stream()
    stream.set_data_preprocess_stream(False)
    with pytest.raises(NotImplementedError, match="data preprocessing stream"):
        stream.set_data_preprocess_stream(True)


@pytest.mark.covers("torch_npu.npu.SyncLaunchStream")
def test_stream_that_launches_in_the_caller() -> None:
    stream = npu.SyncLaunchStream(priority=-1)
    assert isinstance(stream, npu.Stream)
    assert stream.priority == -1
    with npu.stream(stream):
        value = torch.ones(1000, device="npu") * 3
    npu.current_stream().wait_stream(stream)
    assert value.sum().item() == 3000
    stream.synchronize()
    assert stream.query()


@pytest.mark.covers(
    "torch_npu.npu.ExternalEvent",
    "torch_npu.npu.ExternalEvent.record",
    "torch_npu.npu.ExternalEvent.wait",
)
def test_external_event_is_waited_for_before_it_is_recorded() -> None:
    event, stream = npu.ExternalEvent(), npu.Stream()
    assert repr(event) == "<torch.npu.ExternalEvent uninitialized>"
    value = torch.zeros(8, device="npu")
    npu.synchronize()
    event.wait(stream)
    with npu.stream(stream):
        value.add_(1)
    assert not stream.query()
    assert value.tolist() == [0] * 8
    event.record()
    stream.synchronize()
    assert value.tolist() == [1] * 8
    assert f"{event._as_parameter_.value:#x}" in repr(event)


@pytest.mark.covers("torch_npu.npu.ExternalEvent.reset")
def test_external_event_stays_set_until_it_is_reset() -> None:
    event, stream = npu.ExternalEvent(), npu.Stream()
    event.record()
    for _ in range(2):
        stream.wait_event(event)
    stream.synchronize()
    event.reset(stream)
    stream.synchronize()  # another stream's record must not come before it
    event.wait(stream)
    assert not stream.query()
    event.record(torch.Stream(device="npu"))
    stream.synchronize()


def test_first_use_of_an_external_event_waits_for_no_stream() -> None:
    first, second, stream = npu.ExternalEvent(), npu.ExternalEvent(), npu.Stream()
    with npu.stream(stream):
        first.wait()
        second.wait()  # made while the current stream is held up
        value = torch.ones(4, device="npu")
    first.record()
    npu.current_stream().synchronize()
    assert not stream.query()
    second.record()
    stream.synchronize()
    assert value.tolist() == [1] * 4


def test_work_that_waits_for_an_external_event_outlives_it() -> None:
    event, stream = npu.ExternalEvent(), npu.Stream()
    event.wait(stream)
    with npu.stream(stream):
        value = torch.ones(4, device="npu")
    event.record()
    address = event.npu_event
    del event
    npu.synchronize()
    assert value.tolist() == [1] * 4
    others = [npu.ExternalEvent() for _ in range(200)]
    for other in others:
        other.record()
    assert address in {other.npu_event for other in others}


def test_memory_of_an_external_event_is_clear_when_it_is_used_again() -> None:
    stream = npu.Stream()
    seen = set()
    for _ in range(50):
        event = npu.ExternalEvent()
        event.wait(stream)
        assert not stream.query()
        event.record()
        npu.synchronize()
        seen.add(event.npu_event)
    assert len(seen) < 50


def test_external_event_refuses_what_is_no_stream() -> None:
    event = npu.ExternalEvent()
    with pytest.raises(TypeError, match=r"expected a torch\.npu\.Stream"):
        event.record("npu")
    with pytest.raises(RuntimeError, match="cpu"):
        event.wait(torch.Stream("cpu"))
    assert event.npu_event == 0


@pytest.mark.skipif(npu.device_count() < 2, reason="needs two devices")
def test_external_event_stays_on_its_device() -> None:
    event = npu.ExternalEvent()
    event.record()
    with pytest.raises(RuntimeError, match=r"first used on npu:0, the stream is on npu:1"):
        event.wait(npu.current_stream(1))
