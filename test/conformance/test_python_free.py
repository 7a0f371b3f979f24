"""No operator runs PyTorch's Python code for it: that calls public functions of torch, which tools
replace with their own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from conformance import kinds, outcomes, samples
from torch.testing._internal.common_methods_invocations import op_db

SHARDS = 4
# Of torch: where operators are written in Python, for meta tensors among others.
FOLDERS = ("_refs", "_meta_registrations.py", "_prims", "_prims_common", "_decomp")
ROOT = Path(torch.__file__).parent


def entered(call: Callable[[], Any]) -> set[str]:
    """The functions in FOLDERS that the call runs, in this thread."""
    seen = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            path = Path(frame.f_code.co_filename).relative_to(ROOT)
            if path.parts[0] in FOLDERS:
                seen.add(f"{path}: {frame.f_code.co_name}")

    sys.setprofile(note)
    try:
        outcomes.attempt(call)
    finally:
        sys.setprofile(None)
    return seen


def first_dtypes(entry: Any) -> list[torch.dtype]:
    supported = entry.supported_dtypes("cpu")
    return [dtype for dtype in (torch.float32, torch.complex64) if dtype in supported]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_operator_runs_python_that_its_cpu_form_does_not(shard: int) -> None:
    wrong, called = {}, 0
    for entry in op_db[shard::SHARDS]:
        for dtype in first_dtypes(entry):
            requires_grad = kinds.applies(entry, "backward", dtype)
            call = kinds.call_for(entry, "backward" if requires_grad else "forward")
            for arguments in samples.few(entry, dtype, requires_grad, 2):
                on_cpu, on_npu = arguments.on("cpu"), arguments.on("npu")
                known = entered(lambda: call(on_cpu, "cpu"))  # noqa: B023 - called at once
                found = entered(lambda: call(on_npu, "npu")) - known  # noqa: B023
                called += 1
                if found:
                    wrong[f"{entry.full_name} {dtype}"] = sorted(found)[:3]
        outcomes.attempt(torch.npu.synchronize)
    assert called > 200
    assert wrong == {}


def test_python_that_runs_is_seen() -> None:
    meta = torch.ones(3, device="meta")
    assert any("isinf" in name for name in entered(lambda: torch.isinf(meta)))
