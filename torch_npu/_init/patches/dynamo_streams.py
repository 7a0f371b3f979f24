"""Streams, events and devices of `torch.npu` within a compiled function. Importing this imports
Dynamo.

For CUDA, Dynamo marks the nodes of a `with torch.cuda.stream(s)` block with their stream and leaves
the rest to Inductor's scheduler. The backends that work here, "eager" and "aot_eager", run a graph
as it is written, and would run such a block on the stream around it. So here the graph itself
selects the stream.

Dynamo follows the current stream of one device. Where a program uses another device's, the graph
breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch._dynamo import graph_break_hints
from torch._dynamo.exc import unimplemented
from torch._dynamo.graph_bytecode_inputs import (
    get_external_object_by_index,
    register_graph_created_object,
    register_user_object,
)
from torch._dynamo.guards import GuardBuilder, install_guard
from torch._dynamo.source import AttrSource, CallFunctionNoArgsSource, ImportSource
from torch._dynamo.utils import set_example_value
from torch._dynamo.variables import (
    ConstantVariable,
    TorchInGraphFunctionVariable,
    UserDefinedClassVariable,
    VariableTracker,
)
from torch._dynamo.variables import streams as stream_variables
from torch._dynamo.variables.builder import VariableBuilder
from torch._dynamo.variables.ctx_manager import NullContextVariable

from torch_npu import npu
from torch_npu._init.registry import dynamo_operators as operators
from torch_npu._init.registry.dynamo_devices import exchange_device, guard_current_device
from torch_npu._init.registry.dynamo_operators import emit

# Streams made by compiled functions. PyTorch refers to them weakly, also from a backward graph that
# runs later. A device has a fixed number of streams, so this stays small.
_made_streams: dict[tuple[int, int], npu.Stream] = {}

_STREAM = stream_variables.StreamVariable
_EVENT = stream_variables.EventVariable


def extend() -> None:
    """Adds functions, classes and kinds of values to Dynamo's tables."""
    stream_variables._stream_fn_to_variable_cls[npu.current_stream] = NpuStreamVariable
    TorchInGraphFunctionVariable._get_handlers().update(handlers())
    classes = VariableBuilder._id_dispatch()
    classes[id(npu.Stream)] = lambda builder, value: _StreamClass(value, source=builder.source)
    classes[id(npu.Event)] = lambda builder, value: _EventClass(value, source=builder.source)
    classes[id(npu.StreamContext)] = lambda builder, value: _ContextClass(
        value, source=builder.source
    )
    for trace_numpy in (False, True):
        kinds = VariableBuilder._type_dispatch_impl(trace_numpy)
        for stream_class in (npu.Stream, npu.ExternalStream, npu.SyncLaunchStream):
            kinds[stream_class] = _known_stream
        kinds[npu.Event] = _known_event
        kinds[npu.StreamContext] = _known_context


def handlers() -> dict[Callable[..., Any], Callable[..., VariableTracker]]:
    """The functions that Dynamo replaces by something else than their call."""
    return {
        npu.current_stream: _current_stream,
        npu.default_stream: _default_stream,
        npu.set_stream: _set_stream,
        npu.stream: _stream,
        npu.synchronize: _synchronize,
        npu._exchange_device: exchange_device,
        npu._maybe_exchange_device: exchange_device,
    }


class _SelectsStream(stream_variables.StreamContextVariable):
    """The graph selects the stream of a `with` block, and after it the one before."""

    def enter(self, tx: Any, *args: VariableTracker) -> VariableTracker:
        self._before = _current(tx)
        _select(tx, self.get_stream())
        self.set_cleanup_hook(tx, lambda: None)
        return ConstantVariable.create(None)

    def exit(self, tx: Any, *args: VariableTracker) -> VariableTracker:
        self.cleanup_assert()
        _select(tx, self._before)
        return ConstantVariable.create(None)


class NpuStreamVariable(_SelectsStream, stream_variables.StreamVariable):
    """A `torch.npu.Stream`: with its class, its handle and its hash."""

    _cpython_type = npu.Stream
    _device_handle_attr = "npu_stream"

    def python_type(self) -> type:
        return type(self.value) if isinstance(self.value, npu.Stream) else npu.Stream

    def var_getattr(self, tx: Any, name: str) -> VariableTracker:
        if name in ("device", "device_index", "device_type", "priority"):
            return ConstantVariable.create(getattr(self._stream(), name))
        if name in ("npu_stream", "stream_id"):
            self._check_identity(f"the attribute '{name}'")
            return ConstantVariable.create(getattr(self._stream(), name))
        return super().var_getattr(tx, name)

    def call_method(
        self, tx: Any, name: str, args: list[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if name == "synchronize":
            _emit(tx, operators.synchronize_stream, self)
        elif name == "wait_stream":
            _emit(tx, operators.wait_stream, self, _one(args, kwargs, "stream", _STREAM))
        elif name == "wait_event":
            _emit(tx, operators.wait_event, _one(args, kwargs, "event", _EVENT), self)
        elif name == "record_event":
            return self._record_event(tx, args, kwargs)
        else:
            return super().call_method(tx, name, args, kwargs)
        return ConstantVariable.create(None)

    def _record_event(
        self, tx: Any, args: list[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if not args and not kwargs:
            event = _EventClass(npu.Event).call_function(tx, [], {})
        else:
            event = _one(args, kwargs, "event", _EVENT)
        _record(tx, event, self)
        return event

    def hash_impl(self, tx: Any) -> tuple[int, bool]:
        self._check_identity("the hash")
        return hash(self._stream()), False

    def richcompare_impl(self, tx: Any, other: VariableTracker, op: str) -> VariableTracker:
        if op not in ("__eq__", "__ne__") or not isinstance(other, NpuStreamVariable):
            return ConstantVariable.create(op == "__ne__")
        equal = self.user_object_index == other.user_object_index
        if not equal:
            self._check_identity("a comparison")
            other._check_identity("a comparison")
            equal = self._stream() == other._stream()
        return ConstantVariable.create(equal == (op == "__eq__"))

    def _stream(self) -> npu.Stream:
        """The stream while Dynamo traces; what PyTorch calls the current one is a torch.Stream."""
        if isinstance(self.value, npu.Stream):
            return self.value
        return npu.Stream(
            stream_id=self.value.stream_id,
            device_index=self.value.device_index,
            device_type=self.value.device_type,
        )

    def _check_identity(self, what: str) -> None:
        """Ties the graph to this very stream. A stream made in the graph is another at each run."""
        if self.source is None:
            unimplemented(
                gb_type="identity of an npu stream made in the graph",
                context=what,
                explanation=f"{what} of a torch.npu.Stream is another at each run of the function "
                "that makes the stream.",
                hints=["Make the stream outside of the compiled function."],
            )
        install_guard(self.source.make_guard(GuardBuilder.EQUALS_MATCH))


class NpuEventVariable(stream_variables.EventVariable):
    """A `torch.npu.Event`: with its class."""

    def call_method(
        self, tx: Any, name: str, args: list[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if name not in ("record", "wait", "synchronize"):
            return super().call_method(tx, name, args, kwargs)
        if name == "synchronize":
            _emit(tx, operators.synchronize_event, self)
            return ConstantVariable.create(None)
        if all(_is_none(value) for value in (*args, *kwargs.values())):
            stream = _current(tx)
        else:
            stream = _one(args, kwargs, "stream", _STREAM)
        if name == "record":
            _record(tx, self, stream)
        else:
            _emit(tx, operators.wait_event, self, stream)
        return ConstantVariable.create(None)

    def python_type(self) -> type:
        return npu.Event


class NpuStreamContextVariable(_SelectsStream):
    """`torch.npu.StreamContext`."""

    def python_type(self) -> type:
        return npu.StreamContext


def _block(tx: Any, stream: VariableTracker) -> VariableTracker:
    """What `torch.npu.stream(stream)` gives."""
    if _is_none(stream):
        return NullContextVariable()
    return NpuStreamContextVariable(_checked(tx, stream))


class _StreamClass(UserDefinedClassVariable):
    """`torch.npu.Stream` itself: calling it takes a stream at each run of the graph."""

    def call_function(
        self, tx: Any, args: list[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        given = _constants(("device", "priority"), args, kwargs)
        device = given.get("device")
        index = None if device is None else _call(npu._get_device_index, device, optional=True)
        priority = given.get("priority", 0)
        stream = _call(make_stream, index, priority)
        number = register_graph_created_object(
            stream, _construction("make_stream", index, priority)
        )
        return NpuStreamVariable(_proxy_of(tx, number, stream), stream, number)


class _EventClass(UserDefinedClassVariable):
    """`torch.npu.Event` itself: calling it makes an event at each run of the graph."""

    def call_function(
        self, tx: Any, args: list[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        names = ("enable_timing", "blocking", "interprocess", "external")
        given = _constants(names, args, kwargs)
        options = [bool(given.get(name, False)) for name in names]
        event = _call(make_event, *options)
        number = register_graph_created_object(event, _construction("make_event", *options))
        return NpuEventVariable(_proxy_of(tx, number, event), event, number)


class _ContextClass(UserDefinedClassVariable):
    """`torch.npu.StreamContext` itself."""

    def call_function(
        self, tx: Any, args: list[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if len(args) != 1 or kwargs:
            _leave_to_python("torch.npu.StreamContext", "this takes one torch.npu.Stream")
        return _block(tx, args[0])


def make_stream(device: int | None, priority: int) -> npu.Stream:
    """A stream for a compiled function, which calls this at each run."""
    made = npu.Stream(device, priority)
    return _made_streams.setdefault((made.device_index, made.stream_id), made)


def make_event(
    enable_timing: bool, blocking: bool, interprocess: bool, external: bool
) -> npu.Event:
    """An event for a compiled function, which calls this at each run."""
    return npu.Event(enable_timing, blocking, interprocess, external)


def _construction(function: str, *constants: Any) -> Callable[[int, Any], None]:
    """What generates the call of a function of this module, in front of each run of a graph."""

    def generate(_number: int, codegen: Any) -> None:
        codegen.add_push_null(lambda: codegen.load_import_from(__name__, function))
        codegen.extend_output([codegen.create_load_const(constant) for constant in constants])
        codegen.call_function(len(constants), False)

    return generate


def _proxy_of(tx: Any, number: int, value: Any) -> Any:
    """The graph's way to a stream or event: by its number, which each run fills."""
    proxy = tx.output.create_proxy("call_function", get_external_object_by_index, (number,), {})
    set_example_value(proxy.node, value)
    return proxy


def _known_stream(builder: VariableBuilder, value: npu.Stream) -> VariableTracker:
    """A stream that exists before the function is called."""
    builder.install_guards(GuardBuilder.TYPE_MATCH)
    number = register_user_object(value, builder.source)
    variable = NpuStreamVariable(
        _proxy_of(builder.tx, number, value), value, number, source=builder.source
    )
    return builder.tx.output.side_effects.track_object_existing(value, variable)


def _known_event(builder: VariableBuilder, value: npu.Event) -> VariableTracker:
    """An event that exists before the function is called."""
    builder.install_guards(GuardBuilder.TYPE_MATCH)
    number = register_user_object(value, builder.source)
    return NpuEventVariable(
        _proxy_of(builder.tx, number, value), value, number, source=builder.source
    )


def _known_context(builder: VariableBuilder, value: npu.StreamContext) -> VariableTracker:
    """A context of a stream that exists before the function is called."""
    builder.install_guards(GuardBuilder.ID_MATCH)
    stream = VariableBuilder(builder.tx, AttrSource(builder.source, "stream"))(value.stream)
    return _block(builder.tx, stream)


def _current_stream(
    self: TorchInGraphFunctionVariable, tx: Any, device: VariableTracker | None = None
) -> VariableTracker:
    if _index(device) != _current(tx).device.index:
        _break_for_devices("torch.npu.current_stream()")
    guard_current_device()
    of_accelerator = self._get_handlers()[torch.accelerator.current_stream]
    return of_accelerator(self, tx)


def _default_stream(
    _self: TorchInGraphFunctionVariable, tx: Any, device: VariableTracker | None = None
) -> VariableTracker:
    if _index(device) != npu.current_device():
        _break_for_devices("torch.npu.default_stream()")
    guard_current_device()
    function = AttrSource(AttrSource(ImportSource("torch"), "npu"), "default_stream")
    return VariableTracker.build(tx, npu.default_stream(), CallFunctionNoArgsSource(function))


def _set_stream(
    _self: TorchInGraphFunctionVariable, tx: Any, stream: VariableTracker
) -> VariableTracker:
    if not _is_none(stream):
        _select(tx, _checked(tx, stream))
    return ConstantVariable.create(None)


def _stream(
    _self: TorchInGraphFunctionVariable, tx: Any, stream: VariableTracker
) -> VariableTracker:
    return _block(tx, stream)


def _synchronize(
    _self: TorchInGraphFunctionVariable, tx: Any, device: VariableTracker | None = None
) -> VariableTracker:
    index = _index(device)
    guard_current_device()
    emit(tx, operators.synchronize_device, index)
    return ConstantVariable.create(None)


def _current(tx: Any) -> Any:
    return tx.symbolic_stream_state.cur_stream()


def _select(tx: Any, stream: Any) -> None:
    """Makes a stream the current one, in the graph and for Dynamo."""
    _emit(tx, operators.select_stream, stream)
    tx.symbolic_stream_state.exit_stream()
    tx.symbolic_stream_state.enter_stream(stream)


def _record(tx: Any, event: Any, stream: Any) -> None:
    tx.output.check_event_record_after_input_mutation(id(stream.value))
    _emit(tx, operators.record_event, event, stream)


def _emit(tx: Any, operator: Any, *variables: Any) -> None:
    emit(tx, operator, *(variable.user_object_index for variable in variables))


def _one(
    args: list[VariableTracker],
    kwargs: dict[str, VariableTracker],
    name: str,
    kind: type[VariableTracker],
) -> Any:
    """The only argument, which is a stream or an event."""
    given = [*args, *(value for key, value in kwargs.items() if key == name)]
    if len(given) != 1 or len(args) + len(kwargs) != 1 or not isinstance(given[0].realize(), kind):
        _leave_to_python(f"{[*args]} {kwargs}", f"expected one {name}")
    return given[0].realize()


def _is_none(value: VariableTracker) -> bool:
    return value.is_python_constant() and value.as_python_constant() is None


def _index(device: VariableTracker | None) -> int:
    given = None if device is None else device.as_python_constant()
    return _call(npu._get_device_index, given, optional=True)


def _checked(tx: Any, stream: VariableTracker) -> Any:
    """The stream, which is one of the current device."""
    stream = stream.realize()
    if not isinstance(stream, _STREAM):
        _leave_to_python("torch.npu.stream()", f"this takes a torch.npu.Stream, not {stream}")
    if stream.device != _current(tx).device:
        _break_for_devices("torch.npu.stream()")
    return stream


def _constants(
    names: tuple[str, ...], args: list[VariableTracker], kwargs: dict[str, VariableTracker]
) -> dict[str, Any]:
    """The arguments by their names, as constants."""
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if len(args) > len(names) or not given.keys() <= set(names):
        _leave_to_python(f"{len(args)} arguments and {[*kwargs]}", f"expected {', '.join(names)}")
    return {name: value.as_python_constant() for name, value in given.items()}


def _call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function while Dynamo traces; what it raises is raised again without Dynamo."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        _leave_to_python(function.__name__, str(error), error)


def _leave_to_python(what: str, reason: str, error: Exception | None = None) -> NoReturn:
    unimplemented(
        gb_type="wrong use of torch.npu",
        context=what,
        explanation=reason,
        hints=[*graph_break_hints.USER_ERROR],
        from_exc=error,
    )


def _break_for_devices(what: str) -> NoReturn:
    unimplemented(
        gb_type="stream of another npu device",
        context=what,
        explanation=f"{what} is used for a device that is not the current one, and Dynamo follows "
        "the streams of one device.",
        hints=[
            "Select the stream outside of the compiled function, with 'with torch.npu.stream(s):'.",
            *graph_break_hints.SUPPORTABLE,
        ],
    )
