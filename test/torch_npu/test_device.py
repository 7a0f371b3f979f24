"""Which device a thread works on, and what initialises one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import torch

import torch_npu

needs_two = pytest.mark.skipif(torch.npu.device_count() < 2, reason="needs two npu devices")


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a fresh interpreter with additions to the environment."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=570,
    )


def test_importing_and_counting_initialise_nothing():
    result = run_python(
        "import torch, torch_npu\n"
        "count = torch.npu.device_count()\n"
        "assert count > 0 and torch.npu.is_available()\n"
        "assert torch.accelerator.is_available()\n"
        "assert not torch_npu._C._npu_isInitialized()\n"
        "assert not any(torch_npu._C._npu_hasPrimaryContext(i) for i in range(count))\n"
    )
    assert result.returncode == 0, result.stderr


def test_zero_visible_devices_are_reported_at_first_use():
    result = run_python(
        "import torch, torch_npu\n"
        "assert torch.npu.device_count() == 0 and not torch.npu.is_available()\n"
        "torch.empty(1, device='npu')\n",
        ASCEND_RT_VISIBLE_DEVICES="",
        SOFTCANN_DEVICE_COUNT="0",
    )
    assert result.returncode != 0
    assert "RuntimeError" in result.stderr
    assert "device" in result.stderr.lower()


def test_initialising_creates_no_context():
    result = run_python(
        "import torch, torch_npu\n"
        "torch.npu.init()\n"
        "assert torch_npu._C._npu_isInitialized()\n"
        "assert not torch_npu._C._npu_hasPrimaryContext(0)\n"
    )
    assert result.returncode == 0, result.stderr


@needs_two
def test_using_one_device_leaves_the_others_alone():
    result = run_python(
        "import torch, torch_npu\n"
        "torch.npu.set_device(1)\n"
        "with torch.npu.device(1):\n"
        "    torch.npu.synchronize()\n"
        "assert torch_npu._C._npu_hasPrimaryContext(1)\n"
        "assert not torch_npu._C._npu_hasPrimaryContext(0)\n"
    )
    assert result.returncode == 0, result.stderr


@needs_two
def test_a_guard_restores_a_device_that_was_never_used_without_a_context():
    result = run_python(
        "import torch, torch_npu\n"
        "with torch.npu.device(1):\n"
        "    assert torch.npu.current_device() == 1\n"
        "assert torch.npu.current_device() == 0\n"
        "assert not torch_npu._C._npu_hasPrimaryContext(0)\n"
    )
    assert result.returncode == 0, result.stderr


def test_concurrent_first_use_initialises_once():
    result = run_python(
        "import threading, torch, torch_npu\n"
        "errors = []\n"
        "barrier = threading.Barrier(8)\n"
        "def use():\n"
        "    barrier.wait()\n"
        "    try:\n"
        "        torch_npu._C._npu_init()\n"
        "        torch_npu._C._npu_setDevice(0)\n"
        "        torch_npu._C._npu_synchronize()\n"
        "    except Exception as error:\n"
        "        errors.append(error)\n"
        "threads = [threading.Thread(target=use) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "assert not errors, errors\n"
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("index", [64, 127, 1000, -2])
def test_a_device_that_does_not_exist_is_named_in_the_error(index):
    with pytest.raises(RuntimeError, match=f"npu:{index} does not exist"):
        torch_npu._C._npu_setDevice(index)


def test_set_device_refuses_the_first_index_past_the_end():
    count = torch.npu.device_count()
    before = torch.npu.current_device()
    with pytest.raises(RuntimeError, match=f"npu:{count} does not exist, {count} NPU"):
        torch.npu.set_device(count)
    assert torch.npu.current_device() == before


@needs_two
def test_the_current_device_belongs_to_the_thread():
    seen = []
    with torch.npu.device(1):
        thread = threading.Thread(target=lambda: seen.append(torch.npu.current_device()))
        thread.start()
        thread.join()
        assert torch.npu.current_device() == 1
    assert seen == [0]


@needs_two
def test_exchange_returns_the_previous_device_and_ignores_negative_indices():
    torch.npu.set_device(0)
    assert torch_npu._C._npu_exchangeDevice(1) == 0
    assert torch_npu._C._npu_exchangeDevice(-1) == -1
    assert torch.npu.current_device() == 1
    assert torch_npu._C._npu_maybeExchangeDevice(0) == 1
    assert torch.npu.current_device() == 0


@needs_two
def test_torch_accelerator_drives_the_same_state():
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    assert torch.accelerator.device_count() == torch.npu.device_count()
    torch.accelerator.set_device_index(1)
    try:
        assert torch.npu.current_device() == 1
        with torch.accelerator.device_index(0):
            assert torch.npu.current_device() == 0
        assert torch.accelerator.current_device_index() == 1
        torch.accelerator.synchronize()
    finally:
        torch.npu.set_device(0)


def test_properties_describe_the_device():
    properties = torch.npu.get_device_properties(0)
    assert properties.name == torch.npu.get_device_name(0) != ""
    assert properties.total_memory > 0
    assert properties.cube_core_num > 0
    assert properties.vector_core_num >= properties.cube_core_num
    assert properties.name in repr(properties)


@needs_two
def test_devices_have_different_uuids():
    uuids = {str(torch.npu.get_device_properties(i).uuid) for i in range(torch.npu.device_count())}
    assert len(uuids) == torch.npu.device_count()
    assert all(len(uuid) == 36 for uuid in uuids)


def test_a_device_is_not_its_own_peer():
    assert not torch.npu.can_device_access_peer(0, 0)


@pytest.mark.parametrize(
    "ending",
    ["", "import atexit; atexit.register(lambda: keep.add_(1).cpu())", "keep.hold = keep"],
    ids=["plain", "use in an exit hook", "reference cycle"],
)
def test_a_process_with_live_tensors_and_queued_work_exits_cleanly(ending):
    result = run_python(
        "import torch, torch_npu\n"
        "keep = torch.zeros(1 << 20, device='npu')\n"
        "for _ in range(50): keep.add_(1)\n"
        "torch.keep = keep\n"
        "event = torch.npu.Event(); event.record(); torch.event = event\n"
        f"{ending}\n"
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def test_without_cann_importing_works_and_use_says_what_is_missing(monkeypatch):
    for name in [*os.environ]:
        if name.startswith("ASCEND_") or name == "LD_LIBRARY_PATH":
            monkeypatch.delenv(name)
    result = run_python(
        "import torch, torch_npu\n"
        "assert torch.npu.device_count() == 0 and not torch.npu.is_available()\n"
        "torch_npu._C._npu_init()\n",
        SOFTNPU_CANN="none",
    )
    assert result.returncode != 0
    assert "NPU is not available: libascendcl.so was not found" in result.stderr
