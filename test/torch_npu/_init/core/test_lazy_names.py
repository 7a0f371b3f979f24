"""Names that come late, and those that do not come at all."""

from __future__ import annotations

import importlib
import sys

import pytest

import torch_npu


@pytest.mark.parametrize("name", ["contrib", "optim", "profiler", "testing", "HiFloat8Tensor"])
def test_late_name_is_an_attribute_of_the_package(name: str) -> None:
    assert getattr(torch_npu, name).__name__.rpartition(".")[2] == name


def test_import_leaves_late_modules_alone(run_python) -> None:
    code = """
import sys, torch, torch_npu
late = [name for name in sys.modules if name.startswith(("torch_npu.contrib", "torch_npu.optim"))]
assert late == [], late
torch_npu.optim.NpuFusedAdam
print("late")
"""
    result = run_python(code)
    assert result.stdout == "late\n", result.stderr


@pytest.mark.parametrize(
    ("module", "instead"),
    [
        ("torch_npu.distributed", r"torch\.distributed"),
        ("torch_npu.npu.npugraph_ex", "eager"),
    ],
)
def test_missing_module_says_what_to_use(module: str, instead: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"no module '{module}'.* Use .*{instead}"):
        importlib.import_module(module)
    assert module not in sys.modules


def test_missing_module_as_an_attribute_says_what_to_use() -> None:
    with pytest.raises(AttributeError, match="eager mode"):
        torch_npu.dynamo  # noqa: B018
    assert not hasattr(torch_npu, "distributed")


def test_module_that_nobody_has_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        importlib.import_module("torch_npu.no_such_module")
