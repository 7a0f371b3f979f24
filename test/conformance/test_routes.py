"""The fallback counter against an independent trace: what the dispatcher is asked for, and what it
has for it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from conformance import kinds, outcomes, routes, samples
from torch.testing._internal.common_methods_invocations import op_db

ENTRIES = [entry for entry in op_db if torch.float32 in entry.supported_dtypes("cpu")]
SHARES = 8


def traced(entry: Any) -> tuple[set[str], Counter[str]]:
    """The operators for which there is only the fallback, and those that the counter names."""
    arguments = next(samples.few(entry, torch.float32, False, 1), None)
    if arguments is None:
        return set(), Counter()
    copies = arguments.on("npu")
    call = kinds.call_for(entry, "forward")
    before = routes.fallback_counts("npu")
    recorder = routes.Recorder()
    with recorder:
        outcomes.attempt(lambda: call(copies, "npu"))
    torch.npu.synchronize()
    names = {function.name() for function in recorder.functions if hasattr(function, "name")}
    without_kernel = {name for name in names if "::" in name and routes.falls_back(name)}
    return without_kernel, routes.fallback_counts("npu") - before


@pytest.mark.parametrize("share", range(SHARES))
def test_what_has_no_kernel_is_what_the_counter_counts(share: int) -> None:
    disagreeing = {}
    for entry in ENTRIES[share::SHARES]:
        without_kernel, counted = traced(entry)
        if without_kernel - set(counted):
            disagreeing[entry.full_name] = (without_kernel, counted)
    assert disagreeing == {}
