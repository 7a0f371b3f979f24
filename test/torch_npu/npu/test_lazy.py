"""Initialisation at the first use, the calls that wait for it, and forks."""

from __future__ import annotations

import pytest


def _succeeds(result) -> None:
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.covers("torch_npu.npu.init", "torch_npu.npu.is_initialized", traced=False)
@pytest.mark.parametrize(
    "use",
    [
        "torch.npu.init()",
        "torch.empty(1, device='npu')",
        "torch.ones(1).npu()",
        "torch.npu.current_device()",
        "torch.npu.Stream()",
        "torch.npu.synchronize()",
        "torch.nn.Linear(1, 1).to('npu')",
    ],
)
def test_first_use_initialises(run_python, use: str) -> None:
    _succeeds(
        run_python(f"""
import torch, torch_npu
assert torch.npu._initialized is False and torch.npu.default_generators == ()
{use}
assert torch.npu._initialized is True and torch.npu.is_initialized()
assert len(torch.npu.default_generators) == torch.npu.device_count()
""")
    )


def test_seeds_wait_for_initialisation_and_the_last_one_wins(run_python) -> None:
    _succeeds(
        run_python("""
import torch, torch_npu
torch.npu.manual_seed_all(1)
torch.npu.manual_seed(2)
torch.npu.manual_seed(3)
assert not torch.npu.is_initialized()
seeds = [generator.initial_seed() for generator in
         (torch.npu.init(), torch.npu.default_generators)[1]]
assert seeds[0] == 3 and set(seeds[1:]) <= {1}, seeds
""")
    )


def test_failing_queued_call_tells_where_it_was_made(run_python) -> None:
    _succeeds(
        run_python("""
import torch, torch_npu
def fails(): raise ValueError("no good")
def caller(): torch.npu._lazy_call(fails)
caller()
try:
    torch.npu.init()
except torch.npu.DeferredNpuCallError as error:
    assert "no good" in str(error) and "caller" in str(error), error
else:
    raise SystemExit("no error")
""")
    )


def test_forked_child_refuses_the_device_of_its_parent(run_python) -> None:
    _succeeds(
        run_python("""
import os, torch, torch_npu
torch.ones(1, device="npu")
if os.fork() == 0:
    assert torch.npu._is_in_bad_fork() and not torch.npu.is_initialized()
    for use in (torch.npu.init, lambda: torch.ones(1, device="npu"), torch.npu.current_device):
        try:
            use()
        except RuntimeError as error:
            assert "Cannot re-initialize NPU in forked subprocess" in str(error), error
            assert "'spawn' start method" in str(error)
        else:
            os._exit(1)
    torch.manual_seed(1)
    os._exit(0)
assert os.wait()[1] == 0
assert not torch.npu._is_in_bad_fork()
""")
    )


def test_child_forked_before_the_first_use_may_use_the_device(run_python) -> None:
    _succeeds(
        run_python("""
import os, torch, torch_npu
torch.npu.is_available()
if os.fork() == 0:
    os._exit(0 if torch.ones(2, device="npu").sum().item() == 2 else 1)
assert os.wait()[1] == 0
""")
    )


def test_hidden_devices_leave_none(run_python) -> None:
    result = run_python(
        "import torch, torch_npu; print(torch.npu.device_count()); torch.npu.init()",
        ASCEND_RT_VISIBLE_DEVICES="",
    )
    assert result.stdout == "0\n", result.stderr
    assert "RuntimeError: No NPU devices are available" in result.stderr
    assert "ASCEND_RT_VISIBLE_DEVICES" in result.stderr


def test_visible_devices_are_counted(run_python) -> None:
    result = run_python(
        "import torch, torch_npu; print(torch.npu.device_count())",
        ASCEND_RT_VISIBLE_DEVICES="0,2",
    )
    assert result.stdout == "2\n", result.stderr


def test_visible_devices_may_be_chosen_until_the_first_use(run_python) -> None:
    result = run_python(
        "import os, torch, torch_npu\n"
        "print(torch.npu.device_count())\n"
        "os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '5'\n"
        "print(torch.npu.device_count())\n"
        "torch.ones(1, device='npu')\n"
        "os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '5,6'\n"
        "print(torch.npu.device_count())\n",
    )
    assert result.stdout == "8\n1\n1\n", result.stderr
