"""The passes, one after the other."""

from __future__ import annotations

import torch

from torch_npu.jit.fusion_pass.fast_gelu import fast_gelu_pass

_PASSES = (fast_gelu_pass,)


def optimize(jit_mod: torch.jit.ScriptModule) -> None:
    """Runs every pass over a module and its submodules, in place, before the module first runs.

    A graph that has run keeps its plan, and tracing runs it unless `check_trace=False`.

    Raises `TypeError` for what neither `torch.jit.script` nor `torch.jit.trace` has made.
    """
    for run in _PASSES:
        run(jit_mod)
