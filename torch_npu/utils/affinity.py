"""Which cores of the host the calling thread runs on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

# What the process was allowed when this module was loaded, before anybody changed it.
_ALLOWED = frozenset(os.sched_getaffinity(0))


def set_thread_affinity(core_range: Sequence[int] | Sequence[Sequence[int]] | None = None) -> None:
    """Binds the calling thread to cores of the host.

    Args:
        core_range: [first, last], both included; several such ranges; or `None` for every core
            that the process was allowed at first.

    Raises `ValueError` for anything else, and `OSError` where none of the cores exists.
    """
    if core_range is None:
        os.sched_setaffinity(0, _ALLOWED)
        return
    ranges: Any = [core_range] if _is_range(core_range) else core_range
    if not ranges or not all(_is_range(one) for one in ranges):
        raise ValueError(
            f"core_range must be [first, last] or a list of such ranges, but got: {core_range!r}"
        )
    cores: set[int] = set()
    for first, last in ranges:
        cores.update(range(first, last + 1))
    os.sched_setaffinity(0, cores)


def reset_thread_affinity() -> None:
    """Undoes `set_thread_affinity`: every core that the process was allowed at first."""
    set_thread_affinity(None)


def _is_range(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and len(value) == 2
        and all(isinstance(core, int) and not isinstance(core, bool) for core in value)
        and 0 <= value[0] <= value[1]
    )
