"""The current device within a compiled function. Importing this imports Dynamo.

New tensors depend on the current device while Dynamo traces, while AOTAutograd traces again, and at
each run. So the device is selected by an operator, which stays in the graph through all of them.
"""

from __future__ import annotations

from typing import Any

from torch._dynamo.guards import GuardBuilder, install_guard
from torch._dynamo.source import AttrSource, CallFunctionNoArgsSource, ImportSource
from torch._dynamo.variables import ConstantVariable, VariableTracker
from torch._dynamo.variables.ctx_manager import GenericDeviceVariable

from torch_npu import npu
from torch_npu._init.registry import dynamo_operators


class NpuDeviceVariable(GenericDeviceVariable):
    """`torch.npu.device`."""

    _exchange_fn = staticmethod(npu._exchange_device)
    _maybe_exchange_fn = staticmethod(npu._maybe_exchange_device)

    @staticmethod
    def _get_device_index_fn(device: Any, optional: bool) -> int:
        return -1 if device is None else npu._get_device_index(device, optional)

    def enter(self, tx: Any) -> VariableTracker:
        guard_current_device()
        self._before = self._exchange_fn(*self.target_values)
        self.set_cleanup_hook(tx, lambda: self._maybe_exchange_fn(self._before))
        _emit(tx, self.target_values[0])
        return ConstantVariable.create(None)

    def exit(self, tx: Any, *args: VariableTracker) -> VariableTracker:
        self.cleanup_assert()
        _emit(tx, self._before)
        return ConstantVariable.create(False)

    def module_name(self) -> str:
        return "torch.npu"

    def python_type(self) -> type:
        return npu.device


def exchange_device(_self: Any, tx: Any, device: VariableTracker) -> VariableTracker:
    """`torch.npu._exchange_device` and `_maybe_exchange_device`."""
    index = device.as_python_constant()
    guard_current_device()
    before = npu._exchange_device(index)
    tx.output.add_cleanup_hook(lambda: npu._maybe_exchange_device(before))
    _emit(tx, index)
    return ConstantVariable.create(before)


def guard_current_device() -> None:
    """Compiles again where the function is called with another current device."""
    current_device = AttrSource(AttrSource(ImportSource("torch"), "npu"), "current_device")
    source = CallFunctionNoArgsSource(current_device)
    install_guard(source.make_guard(GuardBuilder.EQUALS_MATCH))


def _emit(tx: Any, index: int) -> None:
    if index >= 0:
        dynamo_operators.emit(tx, dynamo_operators.select_device, index)
