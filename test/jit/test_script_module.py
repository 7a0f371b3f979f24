"""Nineteen methods of TorchScript's modules behave on `npu` as PyTorch has them on the CPU.

A module comes in three kinds: of a class derived from `ScriptModule`, traced, and scripted. Where
PyTorch refuses a call, it does so on both devices, with the same type and text.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

DEVICES = ("cpu", "npu")
Module = torch.jit.ScriptModule


class OfClass(torch.jit.ScriptModule):
    """A `ScriptModule` class with a submodule, a parameter and a buffer of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("shift", torch.zeros(3))

    @torch.jit.script_method
    def forward(self, x):
        return self.linear(x) * self.scale + self.shift


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("shift", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + self.shift


def traced() -> Module:
    return torch.jit.trace(Plain(), torch.ones(2, 3))


KINDS: dict[str, Callable[[], Module]] = {
    "class": OfClass,
    "traced": traced,
    "scripted": lambda: torch.jit.script(Plain()),
}


def make(kind: str, device: str) -> Module:
    torch.manual_seed(0)
    return KINDS[kind]().to(device)


def refusal(call: Callable[[], Any]) -> tuple[type[Exception], str] | None:
    try:
        call()
    except Exception as error:
        return type(error), str(error)
    return None


def tensors(module: Module) -> list[torch.Tensor]:
    return [*module.parameters(), *module.buffers()]


each_kind = pytest.mark.parametrize("kind", KINDS)
each_device = pytest.mark.parametrize("device", DEVICES)


@each_device
@each_kind
def test_train_and_eval_reach_submodules(kind: str, device: str) -> None:
    module = make(kind, device)
    assert module.eval() is module
    assert not module.training
    assert not module.linear.training
    assert module.train() is module
    assert module.training
    assert module.linear.training


@each_device
@each_kind
def test_zero_grad_clears_gradients(kind: str, device: str) -> None:
    module = make(kind, device)
    module(torch.ones(2, 3, device=device)).sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())
    module.zero_grad()
    assert all(parameter.grad is None for parameter in module.parameters())


@each_kind
def test_to_moves_and_computes_the_same(kind: str) -> None:
    module = make(kind, "cpu")
    expected = module(torch.ones(2, 3))
    assert module.to("npu") is module
    assert {tensor.device.type for tensor in tensors(module)} == {"npu"}
    torch.testing.assert_close(module(torch.ones(2, 3, device="npu")).cpu(), expected)
    assert {tensor.device.type for tensor in tensors(module.to("cpu"))} == {"cpu"}


@pytest.mark.parametrize(
    ("method", "arguments", "dtype"),
    [
        ("double", (), torch.float64),
        ("type", (torch.float64,), torch.float64),
        ("half", (), torch.float16),
        ("float", (), torch.float32),
    ],
)
@each_device
@each_kind
def test_dtype_methods_change_parameters_and_buffers(
    kind: str, device: str, method: str, arguments: tuple[Any, ...], dtype: torch.dtype
) -> None:
    module = make(kind, device)
    if method == "float":
        module.double()
    assert getattr(module, method)(*arguments) is module
    assert {tensor.dtype for tensor in tensors(module)} == {dtype}
    assert {tensor.device.type for tensor in tensors(module)} == {device}


@each_device
@each_kind
def test_bfloat16_changes_the_dtype_or_is_refused_by_pytorch(kind: str, device: str) -> None:
    module = make(kind, device)
    if kind == "scripted":
        with pytest.raises(RuntimeError, match="bfloat16 is not supported on ScriptModules"):
            module.bfloat16()
        return
    assert module.bfloat16() is module
    assert {parameter.dtype for parameter in module.parameters()} == {torch.bfloat16}


@each_device
@each_kind
def test_state_dict_is_loaded_back(kind: str, device: str) -> None:
    module = make(kind, device)
    state = {name: value.clone().add_(1) for name, value in module.state_dict().items()}
    result = module.load_state_dict(state)
    assert not result.missing_keys
    assert not result.unexpected_keys
    assert all(torch.equal(value, state[name]) for name, value in module.state_dict().items())


@each_device
@each_kind
def test_save_and_load_keep_device_and_values(kind: str, device: str) -> None:
    module = make(kind, device)
    argument = torch.ones(2, 3, device=device)
    expected = module(argument)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.pt"
        module.save(str(path))
        loaded = torch.jit.load(str(path))
        moved = torch.jit.load(str(path), map_location="npu" if device == "cpu" else "cpu")
    assert {tensor.device.type for tensor in tensors(loaded)} == {device}
    assert {tensor.device.type for tensor in tensors(moved)} == set(DEVICES) - {device}
    assert torch.equal(loaded(argument), expected)
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    buffer.seek(0)
    assert torch.equal(torch.jit.load(buffer)(argument), expected)


@each_device
@each_kind
def test_apply_visits_every_module(kind: str, device: str) -> None:
    module = make(kind, device)
    visited = []
    assert module.apply(visited.append) is module
    assert visited[-1] is module
    assert len(visited) == len(list(module.modules()))


@each_kind
def test_share_memory_keeps_the_device(kind: str) -> None:
    for device in DEVICES:
        module = make(kind, device)
        assert module.share_memory() is module
        assert {tensor.device.type for tensor in tensors(module)} == {device}
        assert all(tensor.untyped_storage().is_shared() for tensor in tensors(module))


# What PyTorch refuses, with the beginning of what it says.
REASSIGNED = (RuntimeError, "Cannot re-assign modules in a ScriptModule with non-scripted module")
UNINITIALISED = (AttributeError, "cannot assign {} before Module.__init__() call")
CONSTRUCTED = (RuntimeError, "Can't add a new parameter after ScriptModule construction")


@pytest.mark.parametrize("name", ["linear", "another"])
@pytest.mark.parametrize("method", ["add_module", "register_module"])
@each_kind
def test_plain_modules_are_not_added(kind: str, method: str, name: str) -> None:
    refusals = [
        refusal(lambda device=device: getattr(make(kind, device), method)(name, nn.Linear(1, 1)))
        for device in DEVICES
    ]
    assert refusals[0] == refusals[1] is not None
    assert refusals[1][0] is REASSIGNED[0]
    assert refusals[1][1].startswith(REASSIGNED[1])


@pytest.mark.parametrize(
    ("method", "what", "value"),
    [
        ("register_parameter", "parameter", nn.Parameter(torch.ones(1))),
        ("register_buffer", "buffer", torch.ones(1)),
    ],
)
@each_kind
def test_parameters_and_buffers_are_not_added(
    kind: str, method: str, what: str, value: torch.Tensor
) -> None:
    error, text = CONSTRUCTED if kind == "scripted" else UNINITIALISED
    refusals = [
        refusal(lambda device=device: getattr(make(kind, device), method)("another", value))
        for device in DEVICES
    ]
    assert refusals[0] == refusals[1] is not None
    assert refusals[1][0] is error
    assert refusals[1][1].startswith(text.format(what))
