"""Marks and ranges of the user's own in a profile.

They appear as annotations in `torch.profiler`'s trace. A mark belongs to the moment and thread of
the call; a stream may be given, and the mark is then still the host's.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from typing import Any

from torch.autograd.profiler import record_function

_DEFAULT_DOMAIN = "default"

_ids = itertools.count(1)
# (domain, id) -> the open range. One operation of a dict at a time: the GIL orders them.
_open: dict[tuple[str, int], record_function] = {}
_thread = threading.local()


class mstx:
    """The functions of the module, under the name by which programs import them."""

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = _DEFAULT_DOMAIN) -> None:
        """Marks this moment."""
        _end(_begin(message, domain))

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = _DEFAULT_DOMAIN) -> int:
        """Starts a range and returns its id, for `range_end`."""
        begun = _begin(message, domain)
        range_id = next(_ids)
        _open[domain, range_id] = begun
        return range_id

    @staticmethod
    def range_end(range_id: int, domain: str = _DEFAULT_DOMAIN) -> None:
        """Ends a range. Raises `ValueError` for an id that is not open in `domain`."""
        begun = _open.pop((domain, range_id), None)
        if begun is None:
            raise ValueError(f"no range with the id {range_id} is open in the domain '{domain}'")
        _end(begun)

    @staticmethod
    def range_push(message: str, stream: Any = None, domain: str = _DEFAULT_DOMAIN) -> int:
        """Starts a range inside this thread's last one; returns how many are around it."""
        stack = _stack(domain)
        stack.append(_begin(message, domain))
        return len(stack) - 1

    @staticmethod
    def range_pop(domain: str = _DEFAULT_DOMAIN) -> int:
        """Ends this thread's last range; returns how many were around it, -1 if there was none."""
        stack = _stack(domain)
        if not stack:
            return -1
        _end(stack.pop())
        return len(stack)

    @staticmethod
    @contextlib.contextmanager
    def mstx_range(
        message: str, stream: Any = None, domain: str = _DEFAULT_DOMAIN
    ) -> Iterator[None]:
        """A range around a `with` block or, as a decorator, around each call of a function."""
        range_id = mstx.range_start(message, stream, domain)
        try:
            yield
        finally:
            mstx.range_end(range_id, domain)

    @staticmethod
    def annotate(message: str = "", stream: Any = None, domain: str = _DEFAULT_DOMAIN) -> Any:
        """The same as `mstx_range`."""
        return mstx.mstx_range(message, stream, domain)


mark = mstx.mark
range_start = mstx.range_start
range_end = mstx.range_end
range_push = mstx.range_push
range_pop = mstx.range_pop
mstx_range = mstx.mstx_range
annotate = mstx.annotate


def _begin(message: str, domain: str) -> record_function:
    if not isinstance(message, str) or not isinstance(domain, str):
        raise TypeError(f"message and domain must be str, but got: {message!r}, {domain!r}")
    name = message if domain == _DEFAULT_DOMAIN else f"{domain}: {message}"
    begun = record_function(name)
    begun.__enter__()
    return begun


def _end(begun: record_function) -> None:
    begun.__exit__(None, None, None)


def _stack(domain: str) -> list[record_function]:
    stacks = _thread.__dict__.setdefault("stacks", {})
    return stacks.setdefault(domain, [])
