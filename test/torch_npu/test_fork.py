"""A forked child: refused where the parent has used a device, free to start one where not."""

from __future__ import annotations

import ast
import subprocess
import sys

MESSAGE = (
    "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, "
    "you must use the 'spawn' start method"
)

# Runs each of CHILDREN in a fork of its own, then AFTER in the parent. A child prints its error;
# the exit codes of all of them are printed last.
PARENT = """
import os, sys, traceback
import torch, torch_npu
{before}
codes = []
for child in {children!r}:
    sys.stdout.flush()
    child_id = os.fork()
    if child_id == 0:
        try:
            exec(child)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(3)
        os._exit(0)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child_id, 0)[1]))
{after}
print(codes)
"""


def fork(before: str, children: list[str], after: str = "") -> tuple[list[int], str]:
    """The children's exit codes and what they and the parent wrote to stderr."""
    result = subprocess.run(
        [sys.executable, "-c", PARENT.format(before=before, children=children, after=after)],
        capture_output=True,
        text=True,
        timeout=570,
    )
    assert result.returncode == 0, result.stderr
    return ast.literal_eval(result.stdout.splitlines()[-1]), result.stderr


def test_every_use_in_the_child_of_a_parent_with_a_device_is_refused():
    uses = [
        "torch.empty(2, device='npu')",
        "torch.npu.set_device(0)",
        "torch.npu.synchronize()",
        "torch_npu._C._npu_init()",
        "torch_npu._C._npu_setDevice(0)",
        "torch_npu._C._npu_synchronize()",
        "torch.Stream('npu')",
        "torch.Event('npu').record()",
        "x.add_(1)",
        "x.cpu()",
    ]
    codes, errors = fork("x = torch.ones(4, device='npu')", uses)
    assert dict(zip(uses, codes, strict=True)) == dict.fromkeys(uses, 3), errors
    assert errors.count(MESSAGE) >= len(uses), errors


def test_the_parent_goes_on_after_a_fork():
    codes, errors = fork(
        "x = torch.ones(4, device='npu')",
        ["assert torch.npu._is_in_bad_fork() and not torch.npu.is_initialized()"],
        "assert x.add_(1).cpu().eq(2).all() and not torch.npu._is_in_bad_fork()",
    )
    assert codes == [0], errors


def test_a_child_that_frees_its_copies_leaves_the_parents_memory_alone():
    codes, errors = fork(
        "x = torch.ones(1 << 20, device='npu'); e = torch.npu.Event(); e.record()",
        ["global x, e; import gc; del x, e; gc.collect()"],
        "assert x.cpu().eq(1).all() and e.query()",
    )
    assert codes == [0], errors


def test_the_child_of_a_parent_without_a_device_may_start_one():
    codes, errors = fork(
        "assert torch.npu.device_count() > 0",
        [
            "assert not torch.npu._is_in_bad_fork()\n"
            "assert torch.ones(4, device='npu').add_(1).cpu().eq(2).all()"
        ],
        "assert torch.ones(4, device='npu').add_(2).cpu().eq(3).all()",
    )
    assert codes == [0], errors


def test_a_child_of_a_parent_without_a_device_gives_its_memory_back():
    codes, errors = fork(
        # The backend is loaded and an allocation has failed, but no device is in use.
        "try:\n"
        "    torch.npu.set_device(99)\n"
        "except RuntimeError:\n"
        "    pass\n"
        "assert torch.npu.device_count() > 0",
        ["assert torch.npu._is_in_bad_fork()"],
    )
    assert codes == [0], errors
    codes, errors = fork(
        "",
        [
            "for _ in range(3):\n"
            "    x = torch.ones(1 << 20, device='npu'); h = torch.ones(9).pin_memory(); del x, h\n"
            "torch.npu.synchronize()\n"
            "assert torch.npu.memory_allocated() == 0\n"
            "torch.npu.empty_cache()\n"
            "assert torch.npu.memory_reserved() == 0"
        ],
    )
    assert codes == [0], errors


def test_a_grandchild_is_judged_by_its_own_parent():
    codes, errors = fork(
        "",
        [
            "x = torch.ones(4, device='npu')\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    del x\n"
            "    os._exit(0 if torch.npu._is_in_bad_fork() else 5)\n"
            "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
            "assert x.cpu().eq(1).all() and not torch.npu._is_in_bad_fork()"
        ],
    )
    assert codes == [0], errors


def test_a_child_can_still_exit_normally():
    code = (
        "import os, sys, torch, torch_npu\n"
        "x = torch.ones(4, device='npu')\n"
        "if os.fork() == 0:\n"
        "    sys.exit(0)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=570
    )
    assert result.returncode == 0, result.stderr
