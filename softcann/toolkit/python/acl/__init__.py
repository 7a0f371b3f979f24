"""pyACL: AscendCL for Python, as CANN's toolkit brings it, on softcann.

A function returns its C function's code, 0 for success, after its results if it has any:
``address, code = acl.rt.malloc(size, policy)``. Addresses and handles are integers. There are
no constants: pyACL's users write AscendCL's numbers.
"""

from __future__ import annotations

from ctypes import c_char_p
from typing import NoReturn

from acl import rt, util
from acl._binding import LIBRARY, absent, bind

__all__ = ["finalize", "get_recent_err_msg", "get_soc_name", "init", "rt", "util"]

_init = bind("aclInit", c_char_p)
finalize = bind("aclFinalize")


def init(config_path: str | None = None) -> int:
    """Starts AscendCL, with the configuration file `config_path` if one is given."""
    code: int = _init(config_path.encode() if config_path else None)
    return code


def get_soc_name() -> str:
    """The name of the chip that softcann imitates."""
    LIBRARY.aclrtGetSocName.restype = c_char_p
    return (LIBRARY.aclrtGetSocName() or b"").decode()


def get_recent_err_msg() -> str:
    """The text of this thread's last error, which is then forgotten; empty if there is none."""
    LIBRARY.aclGetRecentErrMsg.restype = c_char_p
    return (LIBRARY.aclGetRecentErrMsg() or b"").decode()


def __getattr__(name: str) -> NoReturn:
    absent("acl", name)
