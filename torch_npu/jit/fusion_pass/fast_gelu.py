"""GELU by its sigmoid approximation."""

from __future__ import annotations

from typing import cast

import torch

_PATTERN = """
graph(%x, %approximate):
  %y = aten::gelu(%x, %approximate)
  return (%y)
"""
_REPLACEMENT = """
graph(%x, %approximate):
  %y = npu::fast_gelu(%x)
  return (%y)
"""


def fast_gelu_pass(jit_mod: torch.jit.ScriptModule) -> None:
    """Puts `npu::fast_gelu` in the place of every `aten::gelu` of a module, in place.

    Raises `TypeError` for what neither `torch.jit.script` nor `torch.jit.trace` has made.
    """
    if not isinstance(jit_mod, torch.jit.ScriptModule):
        raise TypeError(f"expected a torch.jit.ScriptModule, but got: {type(jit_mod).__name__}")
    for module in jit_mod.modules():
        if hasattr(module, "graph"):
            torch._C._jit_pass_custom_pattern_based_rewrite_graph(
                _PATTERN, _REPLACEMENT, cast(torch._C.Graph, module.graph)
            )
