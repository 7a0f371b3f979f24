"""Diagnosis and repair of a card, and debugging of synchronisation."""

from __future__ import annotations

from typing import Any, NoReturn

from torch_npu import _C
from torch_npu.npu._utils import _unavailable
from torch_npu.npu.lazy import _lazy_init

_SYNC_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """What an operation that makes the host wait for a stream does besides.

    Such are copies to the host, `item()`, operators that run on the CPU and `Stream.synchronize`;
    not `synchronize()` and events. The mode holds for all threads.

    Args:
        debug_mode: 0 or "default" for nothing, 1 or "warn" for a warning, 2 or "error" for a
            `RuntimeError` instead of the operation.

    Raises `ValueError` for another mode.
    """
    mode = _SYNC_DEBUG_MODES.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if mode not in (0, 1, 2):
        raise ValueError(
            f"debug_mode must be 0 or 'default', 1 or 'warn', 2 or 'error', but got: {debug_mode!r}"
        )
    _lazy_init()
    _C._npu_setSyncDebugMode(mode)


def get_sync_debug_mode() -> int:
    """The mode that `set_sync_debug_mode` set, as a number."""
    _lazy_init()
    return _C._npu_getSyncDebugMode()


def set_op_timeout_ms(timeout: int) -> None:
    """Limits the time of each operator of this process, from now on, in milliseconds.

    0 lifts the limit. An operator that takes longer fails, which the next synchronisation reports;
    here only after it has ended, for the CPU's kernels cannot be interrupted. Raises
    `OverflowError` for a negative number and `ValueError` for one of more than 32 bits.
    """
    _lazy_init()
    _C._npu_setOpTimeoutMs(timeout)


def stress_detect(detect_type: str = "aic") -> NoReturn:
    """A stress test of the card."""
    raise _unavailable("torch.npu.stress_detect()", "There is no card here that could fail it.")


def check_uce_in_memory(device_id: int) -> NoReturn:
    """A search for uncorrectable errors in the card's memory."""
    raise _unavailable("torch.npu.check_uce_in_memory()", "The memory here is the host's.")


def stop_device(device_id: int) -> NoReturn:
    """Stops the work of a device in order to recover from an error."""
    raise _unavailable(
        "torch.npu.stop_device()", "A stream that failed can be replaced by a new one."
    )


def restart_device(device_id: int, *_arguments: Any, **_options: Any) -> NoReturn:
    """Restarts a stopped device."""
    raise _unavailable(
        "torch.npu.restart_device()", "A stream that failed can be replaced by a new one."
    )
