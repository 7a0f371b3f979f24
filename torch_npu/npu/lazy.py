"""The state of initialisation: a device starts at its first use, never at import.

Calls that need a device and come earlier, such as seeding, are queued and run at that moment.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch._utils import _LazySeedTracker

from torch_npu import _C

_initialized = False
_lock = threading.RLock()
_thread = threading.local()
_queued_calls: list[tuple[Callable[[], None], list[str]]] = []
_seed_tracker = _LazySeedTracker()
_generators: tuple[torch.Generator, ...] = ()


class DeferredNpuCallError(Exception):
    """A call that was queued before initialisation failed when it ran."""


def _is_in_bad_fork() -> bool:
    """Whether this process was forked from one that had started a device."""
    return _C._npu_isInBadFork()


def is_available() -> bool:
    """Whether there is a CANN and at least one device. Starts no device and never raises."""
    return device_count() > 0


def device_count() -> int:
    """The number of visible devices: 0 where no CANN can be loaded. Starts no device."""
    return _C._npu_getDeviceCount()


def is_initialized() -> bool:
    """Whether this process has started a device through PyTorch."""
    return _initialized and not _is_in_bad_fork()


def _is_initializing() -> bool:
    """Whether this thread is running the queued calls."""
    return getattr(_thread, "initializing", False)


def init() -> None:
    """Initialises the backend now instead of at the first use.

    Raises `RuntimeError` where there is no device, and in a process forked from one that had
    started a device.
    """
    _lazy_init()


def _lazy_call(call: Callable[[], None], **kind: Any) -> None:
    """Runs `call` now if a device has been started, else at initialisation.

    Of the calls with `seed=True` and `seed_all=True` only the last of each runs.
    """
    with _lock:
        if is_initialized() or _is_initializing():
            call()
        elif kind.get("seed_all", False):
            _seed_tracker.queue_seed_all(call, traceback.format_stack())
        elif kind.get("seed", False):
            _seed_tracker.queue_seed(call, traceback.format_stack())
        else:
            _queued_calls.append((call, traceback.format_stack()))


def _lazy_init() -> None:
    """Initialises the backend unless it is; PyTorch calls it before it makes a tensor on `npu`."""
    global _initialized, _generators
    # A queued call may itself need the backend: it finds it initialised.
    if is_initialized() or _is_initializing():
        return
    with _lock:
        if is_initialized():
            return
        if _is_in_bad_fork():
            raise RuntimeError(
                "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, "
                "you must use the 'spawn' start method"
            )
        # Its error tells why there is no device: no CANN, none visible, a wrong variable.
        _C._npu_init()
        _generators = tuple(_C._npu_getDefaultGenerator(i) for i in range(device_count()))
        _thread.initializing = True
        try:
            _run_queued_calls()
        finally:
            _thread.initializing = False
        _initialized = True


def _run_queued_calls() -> None:
    _queued_calls.extend(call for call in _seed_tracker.get_calls() if call)
    try:
        for call, origin in _queued_calls:
            try:
                call()
            except Exception as error:
                raise DeferredNpuCallError(
                    f"A call that waited for the initialisation of npu failed: {error}\n\n"
                    f"It was made at:\n\n{''.join(origin)}"
                ) from error
    finally:
        _queued_calls.clear()


def default_generators() -> tuple[torch.Generator, ...]:
    """The default random generator of each device; empty before initialisation."""
    return _generators
