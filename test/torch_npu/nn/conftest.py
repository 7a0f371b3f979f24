"""What the tests of neural network modules share: the CPU's results are the expected ones."""

from __future__ import annotations

import copy
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

Function = Callable[..., Any]

TOLERANCES = {
    torch.float64: {"rtol": 1e-7, "atol": 1e-9},
    torch.float32: {"rtol": 1e-4, "atol": 1e-5},
    torch.float16: {"rtol": 2e-2, "atol": 2e-2},
    torch.bfloat16: {"rtol": 5e-2, "atol": 5e-2},
}


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in nested tuples, lists and packed sequences, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [tensor for part in value for tensor in tensors(part)]
    return []


def to_npu(value: Any) -> Any:
    """The same arguments on npu; leaves that want a gradient are leaves there too."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("npu").requires_grad_(value.requires_grad)
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return value.to("npu")
    if isinstance(value, (tuple, list)):
        return type(value)(to_npu(part) for part in value)
    return value


def check_close(there: Any, here: Any) -> None:
    """Compares npu results with the CPU's, with the tolerance of their dtype."""
    npu_tensors, cpu_tensors = tensors(there), tensors(here)
    assert len(npu_tensors) == len(cpu_tensors)
    for on_npu, on_cpu in zip(npu_tensors, cpu_tensors, strict=True):
        if on_cpu.device.type == "cpu" and on_npu.device.type == "cpu":
            assert torch.equal(on_npu, on_cpu)  # batch sizes of packed sequences stay on the host
            continue
        assert on_npu.device.type == "npu"
        tolerance = TOLERANCES.get(on_cpu.dtype, {"rtol": 0, "atol": 0})
        torch.testing.assert_close(on_npu.cpu(), on_cpu, **tolerance)


def loss(results: Any) -> torch.Tensor:
    """Depends on every element, with another weight for each, so that gradients differ."""
    terms = []
    for tensor in tensors(results):
        if tensor.requires_grad:
            weight = torch.linspace(0.5, 1.5, tensor.numel(), dtype=torch.float64)
            weight = weight.to(tensor.dtype).reshape(tensor.shape).to(tensor.device)
            terms.append((tensor * weight).sum())
    return torch.stack(terms).sum()


def leaves(arguments: Any) -> list[torch.Tensor]:
    return [tensor for tensor in tensors(arguments) if tensor.requires_grad]


@pytest.fixture
def check_function() -> Callable[..., None]:
    """Runs a function on both devices and compares results and the arguments' gradients."""

    def check(function: Function, *arguments: Any, **options: Any) -> None:
        npu_arguments = to_npu(arguments)
        npu_options = {name: to_npu(value) for name, value in options.items()}
        here = function(*arguments, **options)
        there = function(*npu_arguments, **npu_options)
        check_close(there, here)
        cpu_leaves = leaves([arguments, list(options.values())])
        npu_leaves = leaves([npu_arguments, list(npu_options.values())])
        if cpu_leaves:
            check_close(
                torch.autograd.grad(loss(there), npu_leaves),
                torch.autograd.grad(loss(here), cpu_leaves),
            )

    return check


@pytest.fixture
def check_module() -> Callable[..., None]:
    """Runs a module on both devices and compares results and all gradients."""

    def check(module: torch.nn.Module, *arguments: Any, **options: Any) -> None:
        npu_module = copy.deepcopy(module).to("npu")
        npu_arguments = to_npu(arguments)
        npu_options = {name: to_npu(value) for name, value in options.items()}
        here = module(*arguments, **options)
        there = npu_module(*npu_arguments, **npu_options)
        check_close(there, here)
        if module.training and torch.is_grad_enabled():
            cpu_leaves = [*module.parameters(), *leaves(arguments)]
            npu_leaves = [*npu_module.parameters(), *leaves(npu_arguments)]
            check_close(
                torch.autograd.grad(loss(there), npu_leaves, allow_unused=True),
                torch.autograd.grad(loss(here), cpu_leaves, allow_unused=True),
            )

    return check


@pytest.fixture
def no_fallback() -> Iterator[None]:
    """Fails if an operator ran on the host for want of an npu kernel."""
    before = torch.npu.fallback_counts()
    yield
    after = torch.npu.fallback_counts()
    assert {name: after[name] for name in after if after[name] != before.get(name, 0)} == {}


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture
def run_without(
    run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: pathlib.Path
) -> Callable[..., None]:
    """Runs code under a CANN whose operator library lacks the named functions."""

    def run(code: str, *functions: str) -> None:
        softcann = pytest.importorskip("softcann")
        toolkit = tmp_path / "toolkit"
        shutil.copytree(pathlib.Path(softcann.__file__).parent / "toolkit", toolkit)
        library = toolkit / "lib64" / "libopapi.so"
        binary = library.read_bytes()
        for name in functions:
            assert name.encode() in binary
            binary = binary.replace(name.encode(), b"X" + name[1:].encode())
        library.write_bytes(binary)
        loaded = f"assert {str(library)!r} in open('/proc/self/maps').read()"
        result = run_python(
            f"{code}\n{loaded}\nprint('complete')",
            ASCEND_HOME_PATH=str(toolkit),
            ASCEND_OPP_PATH=str(toolkit / "opp"),
        )
        assert result.returncode == 0, result.stderr
        assert "complete" in result.stdout

    return run
