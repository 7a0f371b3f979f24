"""C functions of libascendcl.so in pyACL's form."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NoReturn

# By its plain name: programs may have loaded it already, and softcann's environment finds it.
LIBRARY = ctypes.CDLL("libascendcl.so")


class Out:
    """A parameter through which the C function gives a result of this type."""

    def __init__(self, kind: type[Any]) -> None:
        self.kind = kind


def bind(name: str, *parameters: Any) -> Callable[..., Any]:
    """The C function `name` as a Python function of those parameters that are not `Out`.

    It returns the code, or, where there are results, a tuple of them and the code. A null
    handle or address is 0 in both directions.
    """
    function = getattr(LIBRARY, name)
    function.restype = ctypes.c_int32
    function.argtypes = [ctypes.POINTER(p.kind) if isinstance(p, Out) else p for p in parameters]
    wanted = sum(not isinstance(p, Out) for p in parameters)

    def call(*arguments: Any) -> Any:
        if len(arguments) != wanted:
            raise TypeError(f"{name} takes {wanted} arguments, but got {len(arguments)}")
        given = iter(arguments)
        results = [p.kind() for p in parameters if isinstance(p, Out)]
        places = iter(results)
        code = function(
            *(ctypes.byref(next(places)) if isinstance(p, Out) else next(given) for p in parameters)
        )
        if not results:
            return code
        return (*(r.value or 0 for r in results), code)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Calls {name}; see the package's docstring for what it returns."
    return call


def absent(module: str, name: str) -> NoReturn:
    """Raises what an unknown attribute of pyACL's `module` is."""
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    raise AttributeError(
        f"softcann's pyACL has no {module}.{name}; it has devices, contexts, streams, events and"
        " memory. The C function can be called through ctypes or from C"
    )
