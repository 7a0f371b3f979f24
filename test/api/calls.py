"""Which Python functions, classes and operators a test calls."""

from __future__ import annotations

import inspect
import sys
import threading
import types
from typing import Any, Self

import pytest
import torch

from . import names

_OPERATOR_CODES = {
    torch._ops.OpOverloadPacket.__call__.__code__,
    torch._ops.OpOverload.__call__.__code__,
}


def claimed_names(test: pytest.Item) -> list[str]:
    """The names that the test's markers say it calls, and that a tracer can see.

    Where the test is parametrized with the last parts of such names, only those of this run count.
    `covers(…, traced=False)` is for what runs in another process or in autograd's own thread.
    """
    parameters = set()
    if hasattr(test, "callspec"):
        parameters = {value for value in test.callspec.params.values() if isinstance(value, str)}
    claims: list[str] = []
    for marker in test.iter_markers("covers"):
        if not marker.kwargs.get("traced", True):
            continue
        chosen = [name for name in marker.args if name.rpartition(".")[2] in parameters]
        claims += chosen or marker.args
    return [name for name in claims if names.is_python(name)]


class CallTracer:
    """A context manager that notes what the threads of Python call."""

    def __init__(self) -> None:
        self._codes: set[types.CodeType] = set()
        self._objects: set[int] = set()
        self._kept: list[Any] = []

    def __enter__(self) -> Self:
        self._before = sys.getprofile()
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.setprofile(self._before)
        threading.setprofile(self._before)

    def _note(self, frame: types.FrameType, event: str, argument: Any) -> None:
        if event == "call":
            code = frame.f_code
            self._codes.add(code)
            if code in _OPERATOR_CODES:
                operator = frame.f_locals["self"]
                self._keep(getattr(operator, "overloadpacket", operator))
        elif event == "c_call" and isinstance(
            getattr(argument, "__self__", None), types.ModuleType | None
        ):
            # A method of an object would keep that object alive.
            self._keep(argument)

    def _keep(self, called: Any) -> None:
        if id(called) not in self._objects:
            self._objects.add(id(called))
            self._kept.append(called)

    def has_called(self, name: str) -> bool:
        """Whether the object of that name was called; for a class, one of its own functions."""
        found = names.find(name)
        if id(found) in self._objects or getattr(found, "overloadpacket", None) in self._kept:
            return True
        if isinstance(found, type):
            members = [vars(owner).values() for owner in found.__mro__ if owner is not object]
            return any(self._has_run(member) for group in members for member in group)
        if isinstance(found, types.ModuleType):
            return any(self._has_run(member) for member in vars(found).values())
        return self._has_run(found)

    def _has_run(self, found: Any) -> bool:
        if isinstance(found, property):
            return any(self._has_run(part) for part in (found.fget, found.fset) if part)
        if isinstance(found, staticmethod | classmethod | types.MethodType):
            found = found.__func__
        if not callable(found):
            return False
        code = getattr(inspect.unwrap(found), "__code__", None)
        if code is None and not isinstance(found, type):
            # An instance that is called like a function.
            code = getattr(vars(type(found)).get("__call__"), "__code__", None)
        return code in self._codes
