"""Calls that other backends intercept: here PyTorch's own behaviour and errors are what happens."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import torch_npu

FORBIDDEN = {"npu_intercept", "unsupport_api", "apply_npu_intercept_patch"}


def test_share_memory_of_a_module_on_npu_returns_it() -> None:
    model = nn.Linear(3, 2).npu()
    assert model.share_memory() is model
    assert all(parameter.device.type == "npu" for parameter in model.parameters())
    assert all(parameter.untyped_storage().is_shared() for parameter in model.parameters())
    assert model(torch.ones(1, 3, device="npu")).shape == (1, 2)


def test_share_memory_of_a_tensor_on_npu_leaves_it_where_it_is() -> None:
    tensor = torch.ones(3, device="npu")
    address = tensor.data_ptr()
    assert tensor.share_memory_() is tensor
    assert tensor.data_ptr() == address
    assert tensor.is_shared()


def test_share_memory_of_a_module_on_the_cpu_shares_it() -> None:
    model = nn.Linear(3, 2)
    assert not any(parameter.is_shared() for parameter in model.parameters())
    model.share_memory()
    assert all(parameter.is_shared() for parameter in model.parameters())


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_a_submodule_of_a_scripted_module_is_not_replaced(device: str) -> None:
    module = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU())).to(device)
    with pytest.raises(RuntimeError, match="Cannot re-assign modules in a ScriptModule"):
        module.add_module("0", nn.Linear(2, 2).to(device))
    with pytest.raises(RuntimeError, match="Cannot re-assign modules in a ScriptModule"):
        setattr(module, "0", nn.Linear(2, 2).to(device))


def test_importing_replaces_no_method_of_any_module_class() -> None:
    """Every class of `torch.nn` and `torch.jit` that is there before the import is looked at.

    `npu()` and `is_npu` are new names, which PyTorch itself generates for a device.
    """
    code = """
import torch, torch.nn.modules, torch.jit, torch.ao.nn.quantized
def classes(root):
    found = {root}
    for derived in root.__subclasses__():
        found |= classes(derived)
    return found
def identities():
    return {cls: {name: id(member) for name, member in vars(cls).items()}
            for cls in classes(torch.nn.Module) | {torch.jit.ScriptFunction}}
before = identities()
keep = [list(vars(cls).values()) for cls in before]  # no identity is used twice
assert len(before) > 100
import torch_npu
for cls, members in before.items():
    after = {name: id(member) for name, member in vars(cls).items()}
    changed = {name for name in members if after.get(name) != members[name]}
    assert not changed - {"__abstractmethods__"}, (cls, changed)
    assert set(after) - set(members) <= {"npu", "is_npu"}, (cls, set(after) - set(members))
print(len(before))
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        capture_output=True,
        text=True,
        timeout=570,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def _names(tree: ast.AST) -> set[str]:
    """The parts of every dotted name that the source imports, defines, calls or looks up."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(part for alias in node.names for part in alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            names.update((node.module or "").split("."))
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Name):
            names.add(node.id)
    return names


def _sources() -> list[Path]:
    return sorted(Path(torch_npu.__file__).parent.rglob("*.py"))


def test_no_source_of_the_package_imports_or_defines_an_interceptor() -> None:
    sources = _sources()
    assert len(sources) > 20
    for source in sources:
        assert source.stem not in FORBIDDEN, source
        tree = ast.parse(source.read_text(encoding="utf-8"))
        assert not _names(tree) & FORBIDDEN, source


def test_no_source_of_the_package_assigns_to_a_module_class() -> None:
    """An assignment such as `torch.nn.Module.share_memory = …` or a `setattr` on such a class."""
    classes = {"Module", "ScriptModule", "RecursiveScriptModule", "TracedModule"}
    for source in _sources():
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            targets: list[ast.expr] = []
            if isinstance(node, ast.Assign):
                targets = [target for target in node.targets if isinstance(target, ast.Attribute)]
                targets = [target.value for target in targets]  # type: ignore[attr-defined]
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr":
                targets = node.args[:1]
            for target in targets:
                assert ast.unparse(target).rpartition(".")[2] not in classes, (source, node.lineno)


@pytest.mark.parametrize("name", sorted(FORBIDDEN))
def test_the_interceptors_modules_are_not_there(name: str) -> None:
    with pytest.raises(ImportError):
        __import__(f"torch_npu.utils.{name}", fromlist=["*"])
