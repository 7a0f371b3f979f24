"""The six ways in which an operator is exercised.

Each is a call that takes arguments, already on the device, and gives what is to be compared. A
call returns NOT_APPLICABLE for a sample that says nothing about its kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_flatten, tree_map

from .outcomes import strides_that_count
from .samples import Arguments, seed_for

NOT_APPLICABLE = object()
KINDS = ("forward", "out", "inplace", "backward", "layout", "meta")

Call = Callable[[Arguments, str], Any]


def call_for(entry: Any, kind: str) -> Call:
    """The kind's call: of arguments, and of the device that they are on."""
    return {
        "forward": _forward,
        "out": _out,
        "inplace": _inplace,
        "backward": _backward,
        "layout": _layout,
        "meta": _meta,
    }[kind](entry)


def applies(entry: Any, kind: str, dtype: torch.dtype) -> bool:
    """Whether the database says that the entry has this kind for this dtype on the CPU."""
    if kind == "out":
        return bool(entry.supports_out)
    if kind == "inplace":
        return entry.get_inplace() is not None
    if kind == "backward":
        return bool(entry.supports_autograd) and dtype in entry.supported_backward_dtypes("cpu")
    return True


def _forward(entry: Any) -> Call:
    def call(arguments: Arguments, device: str) -> Any:
        return arguments.finish(entry(*arguments.args, **arguments.kwargs))

    return call


def _out(entry: Any) -> Call:
    """Writes into tensors of the result's form, as strided as the result is."""

    def allocate(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        return torch.full_like(leaf.detach(), 1)

    def call(arguments: Arguments, device: str) -> Any:
        results = entry(*arguments.args, **arguments.kwargs)
        leaves = tree_flatten(results)[0]
        if not leaves or not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
            return NOT_APPLICABLE
        out = tree_map(allocate, results)
        if isinstance(out, tuple):
            out = tuple(out)
        returned = entry(*arguments.args, **arguments.kwargs, out=out)
        written = tree_flatten(out)[0]
        same = [
            left.data_ptr() == right.data_ptr()
            for left, right in zip(tree_flatten(returned)[0], written, strict=True)
        ]
        return arguments.finish(results), [leaf.detach() for leaf in written], same

    return call


def _inplace(entry: Any) -> Call:
    inplace = entry.get_inplace()

    def call(arguments: Arguments, device: str) -> Any:
        target = arguments.args[0]
        if arguments.broadcasts_input or not isinstance(target, torch.Tensor):
            return NOT_APPLICABLE
        target = target.detach().clone()
        returned = inplace(target, *arguments.args[1:], **arguments.kwargs)
        return target, isinstance(returned, torch.Tensor) and (
            returned is target or returned.data_ptr() == target.data_ptr()
        )

    return call


def _backward(entry: Any) -> Call:
    """Results and the gradients of every input, for reproducible gradients of the results."""

    def call(arguments: Arguments, device: str) -> Any:
        inputs = [
            leaf
            for leaf in arguments.leaves()
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad
        ]
        results = arguments.finish(entry(*arguments.args, **arguments.kwargs))
        outputs = [
            leaf
            for leaf in tree_flatten(results)[0]
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad
        ]
        if not inputs or not outputs:
            return NOT_APPLICABLE
        generator = torch.Generator().manual_seed(seed_for(entry.full_name))
        gradients = [_gradient_like(output, generator, device) for output in outputs]
        return results, torch.autograd.grad(outputs, inputs, gradients, allow_unused=True)

    return call


def _layout(entry: Any) -> Call:
    """Of arguments that lie in memory otherwise than their dimensions are ordered: results and,
    where there are any, gradients."""
    forward, backward = _forward(entry), _backward(entry)

    def call(arguments: Arguments, device: str) -> Any:
        results = backward(arguments, device)
        return forward(arguments, device) if results is NOT_APPLICABLE else results

    return call


def _gradient_like(output: torch.Tensor, generator: torch.Generator, device: str) -> torch.Tensor:
    if type(output) is not torch.Tensor or output.layout != torch.strided or output.is_nested:
        return torch.ones_like(output)
    wide = torch.complex64 if output.dtype.is_complex else torch.float32
    values = torch.randn(output.shape, dtype=wide, generator=generator)
    return values.to(output.dtype).to(device)


def describe(results: Any) -> list[Any]:
    """Shape, dtype, strides and device of every tensor among the results."""
    return [
        (tuple(leaf.shape), leaf.dtype, leaf.layout, leaf.device.type, strides_that_count(leaf))
        if isinstance(leaf, torch.Tensor)
        else type(leaf).__name__
        for leaf in tree_flatten(results)[0]
    ]


def _meta(entry: Any) -> Call:
    """The results' form, as computed for real and as predicted by fake tensors.

    Where the CPU's own prediction fails or is wrong, the sample says nothing.
    """

    def fake(arguments: Arguments) -> list[Any]:
        with FakeTensorMode() as mode:

            def convert(leaf: Any) -> Any:
                return mode.from_tensor(leaf) if isinstance(leaf, torch.Tensor) else leaf

            converted = arguments.map(convert)
            return describe(entry(*converted.args, **converted.kwargs))

    def call(arguments: Arguments, device: str) -> Any:
        real = describe(entry(*arguments.args, **arguments.kwargs))
        try:
            predicted = fake(arguments)
        except Exception:
            if device == "cpu":
                return NOT_APPLICABLE
            raise
        if device == "cpu":
            return NOT_APPLICABLE if real != predicted else _differences(real, predicted)
        return _differences(real, predicted)

    return call


def _differences(real: list[Any], predicted: list[Any]) -> str:
    """One text, so that a report quotes it; empty where they agree."""
    if len(real) != len(predicted):
        return f"{len(real)} results, {len(predicted)} predicted"
    pairs = zip(real, predicted, strict=True)
    return "; ".join(f"real {left}, predicted {right}" for left, right in pairs if left != right)
