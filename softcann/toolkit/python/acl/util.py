"""pyACL's helpers: bytes of Python as addresses, and back."""

from __future__ import annotations

import ctypes
from typing import NoReturn

from acl._binding import absent


def bytes_to_ptr(data: bytes) -> int:
    """The address of the content of `data`, valid as long as `data` lives."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def ptr_to_bytes(address: int, size: int) -> bytes:
    """A copy of `size` bytes of host memory at `address`."""
    return ctypes.string_at(address, size)


def __getattr__(name: str) -> NoReturn:
    absent("acl.util", name)
