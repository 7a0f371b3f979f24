"""The error codes that end the messages of this package, in the form that Ascend's tools read."""

from __future__ import annotations

import enum
import os
import sys
import time


class SubModule(enum.IntEnum):
    """The part of the package that reports."""

    PTA = 0
    OPS = 1
    DIST = 2
    GRAPH = 3
    PROF = 4


class ErrCode(enum.Enum):
    """What went wrong: `code` is the number, `msg` the words."""

    SUCCESS = (0, "success")
    PARAM = (1, "invalid parameter")
    TYPE = (2, "invalid type")
    VALUE = (3, "invalid value")
    PTR = (4, "invalid pointer")
    INTERNAL = (5, "internal error")
    MEMORY = (6, "memory error")
    NOT_SUPPORT = (7, "feature not supported")
    NOT_FOUND = (8, "resource not found")
    UNAVAIL = (9, "resource unavailable")
    SYSCALL = (10, "system call failed")
    TIMEOUT = (11, "timeout")
    PERMISSION = (12, "permission denied")
    ACL = (100, "ACL call failed")
    HCCL = (200, "HCCL call failed")
    GE = (300, "GE call failed")
    EXCEPT = (999, "unknown exception")

    @property
    def code(self) -> int:
        return self.value[0]

    @property
    def msg(self) -> str:
        return self.value[1]


def pta_error(error: ErrCode) -> str:
    """The ending of a message about the package itself."""
    return _ending(SubModule.PTA, error)


def ops_error(error: ErrCode) -> str:
    """The ending of a message about an operator."""
    return _ending(SubModule.OPS, error)


def dist_error(error: ErrCode) -> str:
    """The ending of a message about collectives."""
    return _ending(SubModule.DIST, error)


def graph_error(error: ErrCode) -> str:
    """The ending of a message about captured graphs."""
    return _ending(SubModule.GRAPH, error)


def prof_error(error: ErrCode) -> str:
    """The ending of a message about profiling."""
    return _ending(SubModule.PROF, error)


def _ending(module: SubModule, error: ErrCode) -> str:
    now = time.strftime("%Y-%m-%d-%H:%M:%S")
    rank = os.environ.get("RANK", "-1")
    return (
        f"\n[ERROR] {now} (PID:{os.getpid()}, Device:{_device()}, RankID:{rank}) "
        f"ERR{module.value:02d}{error.code:03d} {module.name} {error.msg}"
    )


def _device() -> int:
    """The current device, or -1 where none has been started: reporting must not start one."""
    npu = sys.modules.get("torch_npu.npu")
    if npu is None or not getattr(npu, "_initialized", False) or npu._is_in_bad_fork():
        return -1
    return npu.current_device()
