"""Operators that keep the order of streams and the choice of devices in a compiled graph.

They take no tensors, and a graph may not drop, join or move them: `order` is another number at each
call, for passes that make one call of two equal ones. Streams and events come by the numbers under
which PyTorch keeps a graph's external objects. PyTorch has such operators too, in the
namespace `streams`; AOTAutograd ties those to tensors by where Inductor will run them, and fails
where a stream waits within a graph that has a backward. Importing this imports Dynamo.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.graph_bytecode_inputs import get_external_object_by_index as _object
from torch.fx import has_side_effect

from torch_npu import npu


def _operator(function: Callable[..., None]) -> Any:
    """Registers `torch_npu::<name>` and returns it; while a graph is traced it does nothing."""
    name = function.__name__
    made = torch.library.custom_op(f"torch_npu::{name}", function, mutates_args=())
    made.register_fake(lambda *_numbers: None)
    overload = getattr(torch.ops.torch_npu, name).default
    has_side_effect(overload)
    return overload


@_operator
def select_stream(stream: int, order: int) -> None:
    """`torch.npu.set_stream(stream)`."""
    npu.set_stream(_object(stream))


@_operator
def wait_stream(waiting: int, stream: int, order: int) -> None:
    """`waiting.wait_stream(stream)`."""
    _object(waiting).wait_stream(_object(stream))


@_operator
def synchronize_stream(stream: int, order: int) -> None:
    """`stream.synchronize()`."""
    _object(stream).synchronize()


@_operator
def record_event(event: int, stream: int, order: int) -> None:
    """`event.record(stream)`."""
    _object(event).record(_object(stream))


@_operator
def wait_event(event: int, stream: int, order: int) -> None:
    """`event.wait(stream)`."""
    _object(event).wait(_object(stream))


@_operator
def synchronize_event(event: int, order: int) -> None:
    """`event.synchronize()`."""
    _object(event).synchronize()


@_operator
def synchronize_device(device: int, order: int) -> None:
    """`torch.npu.synchronize(device)`."""
    npu.synchronize(device)


def _select_device(device: int, order: int) -> None:
    npu.set_device(device)


# New tensors depend on it while a graph is traced, as well as when it runs.
torch.library.custom_op("torch_npu::select_device", _select_device, mutates_args=()).register_fake(
    _select_device
)
select_device = torch.ops.torch_npu.select_device.default
has_side_effect(select_device)


_order = itertools.count()


def emit(tx: Any, operator: Any, *numbers: int) -> None:
    """Adds the call of one of these operators to the graph that Dynamo is making."""
    tx.output.create_proxy("call_function", operator, (*numbers, next(_order)), {})
