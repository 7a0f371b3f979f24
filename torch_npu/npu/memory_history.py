"""Snapshots of the allocator, in the form that PyTorch's memory viewer reads."""

from __future__ import annotations

import os
import pickle
import sys
import time
from typing import Any

from torch_npu import _C
from torch_npu.npu._utils import _unavailable
from torch_npu.npu.lazy import _lazy_init


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """The allocator's state on all devices: segments, blocks and, where recorded, the history.

    The dictionary is what `torch.cuda.memory._snapshot` describes. `device` is accepted and
    ignored, as there.
    """
    if augment_with_fx_traces:
        raise _unavailable("Adding FX traces to a snapshot", "Leave augment_with_fx_traces out.")
    _lazy_init()
    return _C._npu_memorySnapshot()


def memory_snapshot(mempool_id: tuple[int, int] | None = None) -> list[dict[str, Any]]:
    """The segments of the allocator on all devices, or those of one pool."""
    _lazy_init()
    return _C._npu_memorySnapshot(mempool_id)["segments"]


def _dump_snapshot(
    filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False
) -> None:
    """Writes `_snapshot()` to a file that PyTorch's memory viewer opens."""
    snapshot = _snapshot(augment_with_fx_traces=augment_with_fx_traces)
    with open(filename, "wb") as file:
        pickle.dump(snapshot, file)


def _record_memory_history(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: Any = None,
    clear_history: bool = False,
) -> None:
    """Records what allocates and frees memory, for `_snapshot`; `enabled=None` stops it.

    Args:
        enabled: "all" for every event, "state" for living allocations only, `None` for none.
        context: for which of "all", "alloc" and "state" a traceback is kept; `None` for none.
        stacks: "all" for Python and C++ frames, "python" for Python's.
        max_entries: how many events are kept; older ones go first.
        device: accepted and ignored, as in `torch.cuda`.
        clear_history: forgets the events recorded so far.
    """
    if enabled not in (None, "state", "all"):
        raise ValueError(f"enabled must be None, 'state' or 'all', but got: {enabled!r}")
    if context not in (None, "state", "alloc", "all"):
        raise ValueError(f"context must be None, 'state', 'alloc' or 'all', but got: {context!r}")
    if stacks not in ("python", "all"):
        raise ValueError(f"stacks must be 'python' or 'all', but got: {stacks!r}")
    _lazy_init()
    _C._npu_record_memory_history(enabled, context, stacks, max_entries, clear_history)


def _snapshot_at_out_of_memory() -> None:
    """Writes a snapshot whenever memory runs out, as OOM_SNAPSHOT_ENABLE says; starts no device.

    1 keeps the history of all events, 2 that of living allocations, 0 and unset nothing. The files
    go to the folder OOM_SNAPSHOT_PATH, which must exist; the current one by default. Raises
    `ValueError` for any other value.
    """
    mode = os.environ.get("OOM_SNAPSHOT_ENABLE") or "0"
    if mode not in ("0", "1", "2"):
        raise ValueError(f"OOM_SNAPSHOT_ENABLE must be 0, 1 or 2, but is {mode!r}")
    if mode == "0":
        return
    folder = os.environ.get("OOM_SNAPSHOT_PATH") or "."
    if not os.path.isdir(folder):
        raise ValueError(f"OOM_SNAPSHOT_PATH must be a folder that exists, but is {folder!r}")

    def dump(*_: int) -> None:
        name = f"oom_snapshot_{os.getpid()}_{time.strftime('%Y%m%d%H%M%S')}.pickle"
        with open(os.path.join(folder, name), "wb") as file:
            pickle.dump(_C._npu_memorySnapshot(), file)

    _C._npu_attach_out_of_memory_observer(dump)
    _C._npu_record_memory_history("all" if mode == "1" else "state", "all", "python", sys.maxsize)
