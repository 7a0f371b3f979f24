"""Arguments `SymInt[]` of Ascend's operators: what PyTorch would answer with an internal error.

PyTorch takes a list with tensors, or a whole tensor, as the numbers of such an argument. Where a
tensor is of bool an assertion of its own fails, and where a value cannot be iterated over its error
shows a Python stack with paths. Both are refused before, by the operator's and the argument's name.
Where torch.compile asks what an operator gives, a tensor has no values yet: Dynamo is told so, in
the way in which it is told of `Tensor.item()`, and breaks the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor

_NAMESPACES = ("npu::", "atb::")

# By an argument's name: its place, or none where it is given by name alone.
_Places = dict[str, int | None]


def install() -> None:
    """Puts the check before every operator of ours that takes `SymInt[]`."""
    for qualified in torch._C._dispatch_get_all_op_names():
        if not qualified.startswith(_NAMESPACES):
            continue
        name, _, overload = qualified.partition(".")
        places = _places(torch._C._get_schema(name, overload))
        if places:
            namespace, _, short = name.partition("::")
            packet = getattr(getattr(torch.ops, namespace), short)
            _check_before(getattr(packet, overload or "default"), short, places)
            if not overload:  # the others have these arguments in the same places
                _check_before(packet, short, places)
                torch.jit._builtins._register_builtin(packet._op, name)


def _places(schema: Any) -> _Places:
    return {
        argument.name: None if argument.kwarg_only else position
        for position, argument in enumerate(schema.arguments)
        if argument.real_type.str().startswith("SymInt[")
    }


def _check_before(operator: Any, name: str, places: _Places) -> None:
    native: Callable[..., Any] = operator._op

    def call(*arguments: Any, **keywords: Any) -> Any:
        for argument, place in places.items():
            value = None
            if argument in keywords:
                value = keywords[argument]
            elif place is not None and place < len(arguments):
                value = arguments[place]
            if value is not None:
                tensors = _tensors(name, argument, value)
                if any(isinstance(tensor, FakeTensor) for tensor in tensors):
                    raise DataDependentOutputException(operator)
        return native(*arguments, **keywords)

    _leave_to_python(call)
    call.__name__, call.__module__ = native.__name__, native.__module__
    operator._op = call


def _leave_to_python(function: Callable[..., Any]) -> None:
    """Keeps Dynamo from compiling a function that it meets after a graph's break."""
    from torch._C._dynamo import eval_frame

    strategy = eval_frame._FrameExecStrategy(
        eval_frame._FrameAction.SKIP, eval_frame._FrameAction.DEFAULT
    )
    eval_frame.set_code_exec_strategy(function.__code__, strategy)


def _tensors(name: str, argument: str, value: Any) -> list[torch.Tensor]:
    """The tensors that numbers are taken from.

    Raises `TypeError` for a value that PyTorch's conversion would not refuse in a clear way.
    """
    if isinstance(value, str):
        return []
    wanted = "integers in a list or a tensor of one dimension"
    expected = f"{name}(): expected {wanted} as '{argument}', but got"
    shape = getattr(value, "shape", None)
    if shape == () or not hasattr(value, "__len__"):
        without = " without dimensions" if shape == () else ""
        raise TypeError(f"{expected} {type(value).__name__}{without}")
    numbers = [value] if isinstance(value, torch.Tensor) else value
    tensors = [number for number in numbers if isinstance(number, torch.Tensor)]
    for tensor in tensors:
        if tensor.dtype == torch.bool or tensor.is_meta:
            what = "without values" if tensor.is_meta else f"of {tensor.dtype}"
            raise TypeError(f"{expected} a tensor {what}")
    return tensors
