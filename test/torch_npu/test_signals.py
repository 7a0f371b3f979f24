"""Waits of the host end where a signal's handler raises, as that of Ctrl-C does."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest
import torch


class InterruptedWaitError(Exception):
    pass


@pytest.fixture
def interrupted() -> Iterator[Callable[[Callable[[], object]], None]]:
    """Calls a function, until a signal arrives whose handler raises."""

    def handle(*_: object) -> None:
        raise InterruptedWaitError

    def call(function: Callable[[], object]) -> None:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        function()

    previous = signal.signal(signal.SIGUSR1, handle)
    yield call
    signal.signal(signal.SIGUSR1, previous)


def test_every_wait_for_a_stream_that_never_goes_on_ends(interrupted) -> None:
    gate, stream = torch.npu.ExternalEvent(), torch.npu.Stream()
    event = torch.npu.Event()
    host = torch.arange(1 << 16)
    value = torch.ones(1 << 16, dtype=torch.int64, device="npu")
    torch.npu.synchronize()
    gate.wait(stream)
    with torch.npu.stream(stream):
        value.add_(1)
        event.record()
        waits = (
            stream.synchronize,
            event.synchronize,
            torch.npu.synchronize,
            torch.accelerator.synchronize,
            lambda: value[3].item(),
            value.cpu,
            lambda: torch.empty_like(value).copy_(host),
            value.tolist,
        )
        for wait in waits:
            with pytest.raises(InterruptedWaitError):
                interrupted(wait)
    assert not stream.query()
    gate.record(torch.npu.Stream())
    stream.synchronize()
    assert event.query()
    assert value.unique().tolist() == [2]


def test_a_program_that_fills_a_stream_that_never_goes_on_is_interrupted(interrupted) -> None:
    gate, stream = torch.npu.ExternalEvent(), torch.npu.Stream()
    value = torch.zeros(4, dtype=torch.int64, device="npu")
    torch.npu.synchronize()
    gate.wait(stream)
    added = 0

    def add_for_ever() -> None:
        nonlocal added
        while True:
            value.add_(1)
            added += 1

    with torch.npu.stream(stream), pytest.raises(InterruptedWaitError):
        interrupted(add_for_ever)
    gate.record(torch.npu.Stream())
    stream.synchronize()
    # The signal may have come between an operator and the count of it.
    assert value[0].item() - added in (0, 1)


def test_work_that_fails_meanwhile_is_reported_later(interrupted) -> None:
    gate, stream, failing = torch.npu.ExternalEvent(), torch.npu.Stream(), torch.npu.Stream()
    gate.wait(stream)
    with torch.npu.stream(failing):
        torch.ones(3, device="npu")[torch.tensor([7], device="npu")]
    with pytest.raises(InterruptedWaitError):
        interrupted(torch.npu.synchronize)
    gate.record(torch.npu.Stream())
    with pytest.raises(RuntimeError, match="aclnnIndex"):
        torch.npu.synchronize()
    torch.npu.synchronize()


def test_a_program_that_was_interrupted_ends_though_its_work_does_not(run_python) -> None:
    code = """
import os, signal, threading, torch, torch_npu
signal.signal(signal.SIGINT, signal.default_int_handler)
kept = torch.ones(4, device="npu")
torch.npu.ExternalEvent().wait()
kept.add_(1)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
torch.npu.synchronize()
"""
    result = run_python(code)
    assert result.returncode == -signal.SIGINT, result.stderr
    assert "KeyboardInterrupt" in result.stderr
    assert "npu device 0 reported an error at exit" in result.stderr.lower()
