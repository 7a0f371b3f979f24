"""Streams: pools, the current stream, ordering, and PyTorch's device-independent classes."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import threading

import pytest
import torch

import torch_npu

needs_two = pytest.mark.skipif(torch.npu.device_count() < 2, reason="needs two npu devices")


@pytest.fixture(autouse=True)
def default_stream_and_device():
    yield
    torch.npu.set_device(0)
    for index in range(torch.npu.device_count()):
        torch_npu._C._npu_setStream(
            stream_id=0, device_index=index, device_type=torch.npu.default_stream(0).device_type
        )
    torch.npu.set_device(0)


@pytest.fixture
def library():
    """The AscendCL runtime, as a library that knows nothing of PyTorch would call it."""
    home = os.environ.get("ASCEND_HOME_PATH")
    return ctypes.CDLL(os.path.join(home, "lib64", "libascendcl.so") if home else "libascendcl.so")


def busy(stream, repeats=40):
    """Queues work that takes a while; returns the tensor that it counts up to `repeats`."""
    with torch.npu.stream(stream):
        counter = torch.zeros(1 << 18, device=stream.device)
        for _ in range(repeats):
            counter.add_(1)
    return counter


def test_the_default_stream_is_current_at_first():
    current = torch.npu.current_stream()
    assert current == torch.npu.default_stream()
    assert current.stream_id == 0
    assert current.npu_stream != 0
    assert current.device == torch.device("npu", 0)


def test_streams_are_torch_streams():
    stream = torch.npu.Stream()
    assert isinstance(stream, torch.Stream)
    assert isinstance(stream, torch_npu._C._NPUStreamBase)
    assert stream.device_type == torch.npu.default_stream().device_type
    assert stream.priority == 0


def test_a_new_stream_is_neither_the_default_nor_the_last_one():
    first, second = torch.npu.Stream(), torch.npu.Stream()
    assert len({torch.npu.default_stream().npu_stream, first.npu_stream, second.npu_stream}) == 3
    assert first != second
    assert first != torch.npu.default_stream()


def test_the_pool_goes_round_after_32_streams():
    streams = [torch.npu.Stream() for _ in range(33)]
    assert len({s.stream_id for s in streams[:32]}) == 32
    assert streams[32] == streams[0]
    assert streams[32].npu_stream == streams[0].npu_stream
    assert hash(streams[32]) == hash(streams[0])


def test_priorities_select_different_pools_and_are_clamped():
    least, greatest = torch_npu._C._NPUStreamBase.priority_range()
    assert least == 0
    assert greatest < 0
    assert torch.npu.Stream(priority=-1).priority == -1
    assert torch.npu.Stream(priority=-100).priority == greatest
    assert torch.npu.Stream(priority=100).priority == 0


def test_the_context_manager_selects_and_restores():
    stream = torch.npu.Stream()
    before = torch.npu.current_stream()
    with torch.npu.stream(stream):
        assert torch.npu.current_stream() == stream
        assert torch.accelerator.current_stream().stream_id == stream.stream_id
    assert torch.npu.current_stream() == before


def test_the_current_stream_belongs_to_the_thread():
    seen = []
    with torch.npu.stream(torch.npu.Stream()):
        thread = threading.Thread(target=lambda: seen.append(torch.npu.current_stream().stream_id))
        thread.start()
        thread.join()
    assert seen == [0]


def test_a_thread_that_chose_a_stream_can_end():
    def choose():
        torch.npu.set_stream(torch.npu.Stream())

    for _ in range(20):
        thread = threading.Thread(target=choose)
        thread.start()
        thread.join()
    assert torch.npu.current_stream() == torch.npu.default_stream()


def test_synchronize_waits_for_the_work_of_that_stream():
    stream = torch.npu.Stream()
    counter = busy(stream)
    stream.synchronize()
    assert stream.query()
    with torch.npu.stream(stream):
        assert counter.cpu().eq(40).all()


def test_a_stream_waits_for_another():
    producer, consumer = torch.npu.Stream(), torch.npu.Stream()
    counter = busy(producer)
    consumer.wait_stream(producer)
    with torch.npu.stream(consumer):
        total = counter + 1
    consumer.synchronize()
    assert total.cpu().eq(41).all()


def test_the_torch_classes_drive_npu_streams():
    stream = torch.Stream("npu")
    assert stream.device.type == "npu"
    counter = busy(stream)
    other = torch.Stream(device="npu:0", priority=-1)
    other.wait_stream(stream)
    event = other.record_event()
    event.synchronize()
    assert other.query()
    assert counter.cpu().eq(40).all()


def test_torch_accelerator_sets_the_current_stream():
    stream = torch.Stream("npu")
    torch.accelerator.set_stream(stream)
    assert torch.npu.current_stream().stream_id == stream.stream_id
    assert torch.accelerator.current_stream() == stream
    torch.accelerator.set_stream(torch.npu.default_stream())


def test_a_torch_stream_is_a_context_manager():
    stream = torch.Stream("npu")
    with stream:
        assert torch.npu.current_stream().stream_id == stream.stream_id
    assert torch.npu.current_stream().stream_id == 0


def test_a_wrapped_handle_of_our_own_is_the_same_stream():
    stream = torch.npu.Stream()
    handle = stream.npu_stream
    assert torch.npu.ExternalStream(handle) == stream
    default = torch.npu.default_stream()
    assert torch.npu.ExternalStream(default.npu_stream) == default


def test_a_stream_made_elsewhere_runs_work(library):
    handle = ctypes.c_void_p()
    torch.npu.synchronize()
    assert library.aclrtSetDevice(0) == 0
    assert library.aclrtCreateStream(ctypes.byref(handle)) == 0
    external = torch.npu.ExternalStream(handle.value)
    assert external.npu_stream == handle.value == external.stream_id
    with torch.npu.stream(external):
        counter = torch.zeros(1024, device="npu").add_(1)
    external.synchronize()
    assert external.query()
    assert counter.cpu().eq(1).all()
    del counter
    torch.npu.synchronize()
    torch.npu.empty_cache()


def test_an_odd_number_is_no_stream_handle():
    with pytest.raises(RuntimeError, match="not a stream handle"):
        torch.npu.ExternalStream(12345)


def test_an_id_that_names_no_stream_is_refused():
    device_type = torch.npu.default_stream().device_type
    forged = torch.npu.Stream(stream_id=(999 << 4) | 1, device_index=0, device_type=device_type)
    with pytest.raises(RuntimeError, match="does not name a stream"):
        forged.synchronize()


def test_a_cpu_stream_cannot_become_current():
    with pytest.raises(RuntimeError, match="npu"):
        torch_npu._C._npu_setStream(stream_id=0, device_index=0, device_type=0)


@needs_two
def test_streams_of_two_devices_are_independent():
    first, second = torch.npu.Stream(0), torch.npu.Stream(1)
    assert first.device.index == 0
    assert second.device.index == 1
    with torch.npu.stream(second):
        assert torch.npu.current_device() == 1
        assert torch.npu.current_stream(0) == torch.npu.default_stream(0)
        assert torch.npu.current_stream(1) == second
    assert torch.npu.current_device() == 0
    assert torch.npu.current_stream(1) == torch.npu.default_stream(1)


@needs_two
def test_a_stream_waits_for_one_of_another_device():
    producer, consumer = torch.npu.Stream(0), torch.npu.Stream(1)
    busy(producer)
    consumer.wait_stream(producer)
    consumer.synchronize()
    assert producer.query()


def test_other_threads_run_while_one_waits():
    """The wait releases the GIL: another thread can end it."""
    stream, gate = torch.npu.Stream(), torch.npu.ExternalEvent()
    gate.wait(stream)
    waiting = threading.Event()

    def open_gate():
        waiting.wait()
        gate.record(torch.npu.Stream())

    thread = threading.Thread(target=open_gate)
    thread.start()
    faulthandler.dump_traceback_later(300, exit=True)  # without the GIL nothing else would end it
    try:
        assert not stream.query()
        waiting.set()
        stream.synchronize()
    finally:
        faulthandler.cancel_dump_traceback_later()
        thread.join()
    assert stream.query()
