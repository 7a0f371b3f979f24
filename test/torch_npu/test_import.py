"""Importing `torch_npu`: what it does, what it leaves alone and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import torch_npu


@pytest.mark.covers("torch_npu.__version__", traced=False)
def test_version_begins_with_the_torch_version_and_has_a_local_label() -> None:
    import torch

    public, _, label = torch_npu.__version__.partition("+")
    assert public == torch.__version__.partition("+")[0]
    assert label.startswith("soft")


def test_import_replaces_no_method_of_modules(run_python) -> None:
    code = """
import torch
classes = (torch.nn.Module, torch.jit.ScriptModule, torch.jit.RecursiveScriptModule,
           torch.jit.TracedModule, torch.nn.Sequential, torch.nn.Linear)
before = {owner: dict(vars(owner)) for owner in classes}
share_memory = torch.nn.Module.share_memory
import torch_npu
for owner, members in before.items():
    after = dict(vars(owner))
    changed = {name for name in members if after.pop(name) is not members[name]}
    assert not changed, (owner, changed)
    added = {"npu"} if owner is torch.nn.Module else set()
    assert set(after) == added, (owner, set(after))
assert torch.nn.Module.share_memory is share_memory
print("same")
"""
    result = run_python(code)
    assert result.stdout.endswith("same\n"), result.stderr


@pytest.mark.covers("torch_npu.__file__", traced=False)
def test_no_module_of_the_package_intercepts_methods() -> None:
    forbidden = re.compile(r"npu_intercept|unsupport_api|apply_npu_intercept_patch")
    sources = list(Path(torch_npu.__file__).parent.rglob("*.py"))
    assert sources
    assert [path for path in sources if forbidden.search(path.read_text(encoding="utf-8"))] == []


def test_import_starts_no_device(run_python) -> None:
    code = """
import torch, torch_npu
assert not torch.npu.is_initialized()
assert torch.npu._initialized is False
torch.manual_seed(1)
assert torch.npu.device_count() >= 0 and torch.npu.is_available() in (True, False)
assert not torch.npu.is_initialized(), "a query started a device"
print("none")
"""
    result = run_python(code)
    assert result.stdout.endswith("none\n"), result.stderr


def test_import_loads_no_compiler(run_python) -> None:
    code = """
import sys, torch
before = set(sys.modules)
import torch_npu
new = {name.split(".")[0] for name in set(sys.modules) - before}
print(sorted(new - {"torch_npu", "softcann"}), "torch._dynamo" in sys.modules)
"""
    result = run_python(code)
    assert result.stdout.splitlines()[-1:] == ["['torch'] False"], result.stdout + result.stderr


def test_import_before_torch_works_with_autoload_on(run_python) -> None:
    code = "import torch_npu, torch; print(torch.npu is torch_npu.npu)"
    result = run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="1")
    assert result.stdout.endswith("True\n"), result.stderr


def test_torch_loads_the_package_through_its_entry_point(run_python) -> None:
    code = "import torch; print(torch.npu.__name__)"
    result = run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="1")
    assert result.stdout.endswith("torch_npu.npu\n"), result.stderr


def test_second_accelerator_is_refused(run_python) -> None:
    code = """
import torch
torch.accelerator.current_accelerator = lambda check_available=False: torch.device("cuda")
import torch_npu
"""
    result = run_python(code)
    assert result.returncode == 1
    message = result.stderr.splitlines()[-1]
    assert message.startswith("RuntimeError: PyTorch already has the accelerator 'cuda'")
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in message


def test_device_of_another_package_is_refused(run_python) -> None:
    code = """
import torch
torch.utils.rename_privateuse1_backend("other")
import torch_npu
"""
    result = run_python(code)
    assert result.returncode == 1
    message = result.stderr.splitlines()[-1]
    assert message.startswith("RuntimeError: The device 'other' of another package")
    assert "uninstall 'softnpu'" in message
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in message


def test_accelerator_that_is_not_available_is_no_obstacle(run_python) -> None:
    code = """
import torch
def current_accelerator(check_available=False):
    return None if check_available else torch.device("cuda")
torch.accelerator.current_accelerator = current_accelerator
import torch_npu
print(torch_npu.__version__)
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr


def test_refusal_reaches_a_program_that_only_imports_torch(run_python, tmp_path) -> None:
    metadata = tmp_path / "torch_npu-2.13.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_npu\nVersion: 2.13.0\n")
    code = f"import sys; sys.path.append({str(tmp_path)!r}); import torch"
    result = run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="1")
    assert result.returncode == 1
    assert "pip uninstall -y softnpu torch-npu" in result.stderr
    result = run_python(code + "; print('on its own')", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert result.stdout.endswith("on its own\n"), result.stderr


def test_official_distribution_beside_ours_is_refused(run_python, tmp_path) -> None:
    metadata = tmp_path / "torch_npu-2.13.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_npu\nVersion: 2.13.0\n")
    code = f"""
import sys
sys.path.append({str(tmp_path)!r})
import torch_npu
"""
    result = run_python(code)
    assert result.returncode == 1
    message = result.stderr.splitlines()[-1]
    assert message.startswith("RuntimeError: The distribution 'torch-npu' 2.13.0")
    assert "pip uninstall" in message


@pytest.mark.parametrize("name", ["npu_no_such_operator", "no_such_name"])
def test_missing_name_is_an_attribute_error_that_names_it(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(torch_npu, name)


def test_hccl_group_says_that_collectives_are_missing() -> None:
    import torch.distributed as dist

    assert dist.Backend.default_device_backend_map["npu"] == "hccl"
    with pytest.raises(NotImplementedError, match=r"gloo[\s\S]*ERR02007 DIST"):
        dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1)


def test_rpc_backend_says_that_it_is_missing() -> None:
    from torch.distributed.rpc import backend_registry

    with pytest.raises(NotImplementedError, match="TENSORPIPE"):
        backend_registry.construct_rpc_backend_options(backend_registry.BackendType.NPU_TENSORPIPE)


def test_checkpoint_saves_random_state_of_npu_by_default() -> None:
    from torch.utils.checkpoint import DefaultDeviceType

    assert DefaultDeviceType.get_device_type() == "npu"


def test_queued_failure_is_reported_at_exit(run_python) -> None:
    code = """
import torch, torch_npu
torch.ones(3, device="npu").index_select(0, torch.tensor([7], device="npu"))
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    assert "error at exit" in result.stderr


def test_forked_child_ends_without_touching_the_device(run_python) -> None:
    code = """
import os, sys, torch, torch_npu
x = torch.ones(3, device="npu")
if os.fork() == 0:
    sys.exit(0)
_, status = os.wait()
print(status, x.sum().item())
"""
    result = run_python(code)
    assert result.stdout.endswith("0 3.0\n"), result.stdout + result.stderr
