"""Events: recording, waiting, asking, and measuring time."""

from __future__ import annotations

import time

import pytest
import torch

import torch_npu

needs_two = pytest.mark.skipif(torch.npu.device_count() < 2, reason="needs two npu devices")


def queue_work(repeats=40):
    counter = torch.zeros(1 << 18, device="npu")
    for _ in range(repeats):
        counter.add_(1)
    return counter


def test_an_event_is_created_by_its_first_record():
    event = torch.npu.Event()
    assert event.npu_event == 0
    assert event.query()
    event.synchronize()
    event.record()
    assert event.npu_event != 0
    assert event.device == torch.device("npu", 0)


def test_events_are_torch_events():
    event = torch.npu.Event()
    assert isinstance(event, torch.Event)
    assert isinstance(event, torch_npu._C._NPUEventBase)


def test_synchronize_waits_for_what_came_before():
    counter = queue_work()
    event = torch.npu.Event()
    event.record()
    event.synchronize()
    assert event.query()
    assert counter.cpu().eq(40).all()


def test_a_stream_waits_for_an_event():
    producer, consumer = torch.npu.Stream(), torch.npu.Stream()
    event = torch.npu.Event()
    with torch.npu.stream(producer):
        counter = queue_work()
        event.record()
    event.wait(consumer)
    with torch.npu.stream(consumer):
        total = counter + 1
        consumer.synchronize()
    assert total.cpu().eq(41).all()


def test_the_torch_stream_class_accepts_npu_events():
    producer, consumer = torch.Stream("npu"), torch.Stream("npu")
    event = torch.npu.Event()
    with torch.npu.stream(producer):
        counter = queue_work()
    event.record(producer)
    consumer.wait_event(event)
    consumer.synchronize()
    assert event.query()
    assert counter.cpu().eq(40).all()


def test_the_torch_event_class_works_on_npu():
    start, end = (torch.Event("npu", enable_timing=True) for _ in range(2))
    start.record()
    queue_work()
    end.record()
    end.synchronize()
    assert start.query()
    assert start.elapsed_time(end) > 0


def test_elapsed_time_is_in_milliseconds_of_the_device():
    start = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    before = time.perf_counter()
    start.record()
    torch.npu.synchronize()
    time.sleep(0.05)
    end.record()
    end.synchronize()
    wall = (time.perf_counter() - before) * 1000
    assert 49 <= start.elapsed_time(end) <= wall
    assert end.elapsed_time(start) < 0


def test_an_event_can_be_recorded_again():
    event = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    event.record()
    event.synchronize()
    time.sleep(0.05)
    before = time.perf_counter()
    event.record()
    end.record()
    end.synchronize()
    wall = (time.perf_counter() - before) * 1000
    assert event.elapsed_time(end) <= wall


def test_time_without_timing_is_refused():
    start, end = torch.npu.Event(), torch.npu.Event(enable_timing=True)
    start.record()
    end.record()
    torch.npu.synchronize()
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(end)


def test_time_before_recording_is_refused():
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    start.record()
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(end)


def test_something_else_than_an_event_or_stream_is_refused():
    event = torch_npu._C._NPUEventBase(enable_timing=True)
    with pytest.raises(TypeError, match=r"expected a torch\.npu\.Event"):
        event.elapsed_time(3)
    with pytest.raises(TypeError, match=r"expected a torch\.npu\.Stream"):
        event.record("npu")


def test_a_cpu_stream_is_refused():
    with pytest.raises(RuntimeError, match="does not match recording stream"):
        torch.npu.Event().record(torch.Stream("cpu"))


def test_what_is_not_supported_says_so():
    with pytest.raises(NotImplementedError, match="external"):
        torch.npu.Event(external=True)


def test_blocking_events_are_accepted():
    event = torch.npu.Event(blocking=True)
    event.record()
    event.synchronize()
    assert event.query()


@needs_two
def test_an_event_stays_on_its_device():
    event = torch.npu.Event()
    event.record(torch.npu.Stream(0))
    with pytest.raises(RuntimeError, match="does not match recording stream's device index 1"):
        event.record(torch.npu.Stream(1))


def test_many_events_come_and_go():
    for _ in range(5000):
        torch.npu.Event().record()
    torch.npu.synchronize()
