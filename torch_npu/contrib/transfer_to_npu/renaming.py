"""How "cuda" becomes "npu" in what a function is given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

GROUP = "transfer_to_npu"

# PyTorch's own class: `torch.device` itself is replaced.
_Device = torch.device


def to_npu(value: Any) -> Any:
    """A device of `cuda`, as a string or `torch.device`, as the one of `npu`; else `value`."""
    if isinstance(value, str):
        if value == "cuda" or value.startswith("cuda:"):
            return "npu" + value[len("cuda") :]
    elif type(value) is _Device and value.type == "cuda":
        return _Device("npu") if value.index is None else _Device("npu", value.index)
    return value


def renaming(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with `to_npu` applied to each of its arguments."""

    @functools.wraps(function)
    def renamed(*arguments: Any, **options: Any) -> Any:
        if options:
            options = {name: to_npu(value) for name, value in options.items()}
        return function(*map(to_npu, arguments), **options)

    return renamed


def rename_arguments(owner: Any, *names: str) -> None:
    """Replaces the functions or methods `names` of a module or class by their `renaming`."""
    for name in names:
        setattr(owner, name, renaming(getattr(owner, name)))


def replace_everywhere(modules: tuple[ModuleType, ...], name: str, new: Any) -> None:
    """Sets `name` in each module that has it: PyTorch repeats some names in several modules."""
    for module in modules:
        if hasattr(module, name):
            setattr(module, name, new)


def stand_in(native: Any) -> Any:
    """A class to be called in place of `native`, which cannot be subclassed, with `to_npu` applied.

    It makes objects of `native`, counts them as its instances, and is equal to `native`, so that
    tables and type checks made with either find the other.
    """

    class StandIn(type):
        def __call__(cls, *arguments: Any, **options: Any) -> Any:
            return renaming(native)(*arguments, **options)

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, native)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return subclass is cls or issubclass(subclass, native)

        def __eq__(cls, other: object) -> bool:
            return other is cls or other is native

        def __hash__(cls) -> int:
            return hash(native)

        def __getattr__(cls, name: str) -> Any:
            return getattr(native, name)

    # Pickles of its objects name it, so it goes by the native class's name.
    names = {"__module__": "torch", "__qualname__": native.__name__, "__doc__": native.__doc__}
    return StandIn(native.__name__, (), names)
