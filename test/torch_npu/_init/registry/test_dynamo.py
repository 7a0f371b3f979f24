"""Dynamo learns of `npu` when it is imported, and not before."""

from __future__ import annotations


def test_interface_is_registered_when_dynamo_is_imported(run_python) -> None:
    code = """
import sys, torch, torch_npu
assert "torch._dynamo" not in sys.modules
from torch._dynamo.device_interface import get_interface_for_device
interface = get_interface_for_device("npu")
assert interface.device_count() == torch.npu.device_count()
assert interface.Stream is torch.npu.Stream and interface.device is torch.npu.device
print("registered")
"""
    result = run_python(code)
    assert result.stdout.endswith("registered\n"), result.stderr


def test_interface_is_registered_where_dynamo_came_first(run_python) -> None:
    code = """
import torch, torch._dynamo
import torch_npu
from torch._dynamo.device_interface import get_interface_for_device
print(get_interface_for_device("npu").__name__)
"""
    result = run_python(code)
    assert result.stdout.endswith("NpuInterface\n"), result.stderr
