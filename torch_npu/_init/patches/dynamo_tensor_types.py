"""`torch.npu.FloatTensor` and its like within a compiled function. This imports Dynamo."""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo import graph_break_hints
from torch._dynamo.exc import unimplemented
from torch._dynamo.variables import UserDefinedClassVariable, VariableTracker
from torch._dynamo.variables.builder import VariableBuilder
from torch._guards import TracingContext

from torch_npu import npu
from torch_npu.npu import legacy_types


def extend() -> None:
    """Adds the classes to Dynamo's table of values that it knows."""
    classes = VariableBuilder._id_dispatch()
    for name in legacy_types.TENSOR_NAMES:
        classes[id(getattr(npu, name))] = lambda builder, value: _TensorTypeClass(
            value, source=builder.source
        )
    legacy_types._TensorType.__subclasscheck__ = _subclass_check  # type: ignore[method-assign]


class _TensorTypeClass(UserDefinedClassVariable):
    """`torch.npu.FloatTensor` itself: calling it makes a CPU tensor and copies that."""

    def call_function(
        self, tx: Any, args: list[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if len(args) == 1 and args[0].is_tensor():
            _break(f"{self._full_name()}(tensor)")
        cpu_type = self.value._cpu_type  # type: ignore[attr-defined]
        on_cpu = UserDefinedClassVariable(cpu_type).call_function(tx, args, kwargs)
        return on_cpu.call_method(tx, "npu", [], {})

    def as_proxy(self) -> str:
        # Tensor.type() takes the name too, and a graph cannot hold the class.
        return self._full_name()

    def _full_name(self) -> str:
        return self.value.__name__


def _subclass_check(cls: type, other: type) -> bool:
    """Dynamo answers `isinstance(tensor, cls)` by this, with the class of the tensor alone; what
    counts here is its device and dtype.
    """
    if issubclass(other, torch.Tensor) and TracingContext.try_get() is not None:
        _break(f"isinstance(..., {cls.__name__})")
    return type.__subclasscheck__(cls, other)


def _break(what: str) -> None:
    unimplemented(
        gb_type="legacy tensor type of npu",
        context=what,
        explanation=f"Dynamo cannot see what {what} depends on.",
        hints=["Compare tensor.dtype and tensor.device.", *graph_break_hints.SUPPORTABLE],
    )
