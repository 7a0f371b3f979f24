"""The fallback counter against an independent trace: what the dispatcher is asked for, and what it
has for it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from conformance import kinds, outcomes, routes, samples
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

ENTRIES = [entry for entry in op_db if torch.float32 in entry.supported_dtypes("cpu")]
SHARES = 8
MOST_FALLBACKS = 0.07  # of the samples


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
    disagreeing, fell_back = {}, []
    entries = ENTRIES[share::SHARES]
    for entry in entries:
        without_kernel, counted = traced(entry)
        if without_kernel - set(counted):
            disagreeing[entry.full_name] = (without_kernel, counted)
        if without_kernel:
            fell_back.append(entry.full_name)
    assert disagreeing == {}
    assert len(fell_back) <= MOST_FALLBACKS * len(entries), fell_back


def test_the_trace_and_the_counter_each_see_an_operator_without_a_kernel() -> None:
    library = torch.library.Library("conformance_probe", "FRAGMENT")
    library.define("doubled(Tensor x) -> Tensor")
    library.impl("doubled", lambda x: x * 2, "CPU")
    entry = OpInfo(
        "doubled",
        op=lambda x: torch.ops.conformance_probe.doubled(x + 1),
        dtypes=(torch.float32,),
        sample_inputs_func=lambda *_, **__: [SampleInput(torch.zeros(2))],
    )
    without_kernel, counted = traced(entry)
    assert without_kernel == {"conformance_probe::doubled"}
    assert counted == {"conformance_probe::doubled": 1}
