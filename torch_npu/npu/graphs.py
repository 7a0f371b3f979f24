"""Captured graphs: their names, each of which says that capture is not there yet."""

from __future__ import annotations

from typing import Any, NoReturn

from torch_npu import _C
from torch_npu.npu._utils import _unavailable
from torch_npu.npu.lazy import is_initialized

_INSTEAD = "Run the code eagerly: work is asynchronous and queues while Python goes on."


def is_current_stream_capturing() -> bool:
    """Whether the current stream records a graph. Starts no device."""
    return is_initialized() and _C._npu_isCurrentStreamCapturing()


class NPUGraph:
    """A recorded sequence of work that is replayed as one."""

    def __new__(cls, *_arguments: Any, **_options: Any) -> NPUGraph:
        raise _unavailable("torch.npu.NPUGraph", _INSTEAD)


class graph:
    """A context manager that records a graph."""

    def __new__(cls, *_arguments: Any, **_options: Any) -> graph:
        raise _unavailable("torch.npu.graph", _INSTEAD)


class _NPUTaskGroupHandle:
    """A group of tasks of a graph. Programs name it in annotations."""

    def __new__(cls, *_arguments: Any, **_options: Any) -> _NPUTaskGroupHandle:
        raise _unavailable("torch_npu._C._NPUTaskGroupHandle", _INSTEAD)


_C.__dict__["_NPUTaskGroupHandle"] = _NPUTaskGroupHandle


def graph_pool_handle() -> NoReturn:
    """The identity of a pool of memory that graphs share."""
    raise _unavailable("torch.npu.graph_pool_handle()", _INSTEAD)


def make_graphed_callables(*_arguments: Any, **_options: Any) -> NoReturn:
    """Modules or functions whose work is recorded once and replayed."""
    raise _unavailable("torch.npu.make_graphed_callables()", _INSTEAD)


def graph_task_group_begin(stream: Any) -> NoReturn:
    """Begins a group of tasks of a graph that can be updated."""
    raise _unavailable("torch.npu.graph_task_group_begin()", _INSTEAD)


def graph_task_group_end(stream: Any) -> NoReturn:
    """Ends the group of tasks."""
    raise _unavailable("torch.npu.graph_task_group_end()", _INSTEAD)


def graph_task_update_begin(stream: Any, handle: Any) -> NoReturn:
    """Begins the update of a group of tasks."""
    raise _unavailable("torch.npu.graph_task_update_begin()", _INSTEAD)


def graph_task_update_end(stream: Any) -> NoReturn:
    """Ends the update of a group of tasks."""
    raise _unavailable("torch.npu.graph_task_update_end()", _INSTEAD)
