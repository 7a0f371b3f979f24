"""Passes over scripted and traced modules."""

from __future__ import annotations

import pytest
import torch

from torch_npu import jit
from torch_npu.jit.fusion_pass.fast_gelu import fast_gelu_pass


class _Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.GELU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x) + self.inner(2 * x)


@pytest.mark.covers(
    "torch_npu.jit.optimize",
    "torch_npu.jit.fusion_pass.fast_gelu.fast_gelu_pass",
)
@pytest.mark.parametrize("make", ["script", "trace"])
def test_gelu_becomes_fast_gelu(make: str) -> None:
    x = torch.linspace(-4, 4, 33, device="npu")
    if make == "script":
        module = torch.jit.script(_Block())
    else:
        module = torch.jit.trace(_Block(), (x,), check_trace=False)
    jit.optimize(module)
    for part in (module, module.inner):
        assert "npu::fast_gelu" in str(part.graph)
        assert "aten::gelu" not in str(part.graph)

    def fast(value: torch.Tensor) -> torch.Tensor:
        return value * torch.sigmoid(1.702 * value)

    torch.testing.assert_close(module(x), fast(x) + fast(2 * x), atol=1e-3, rtol=1e-3)


def test_ordinary_module_is_refused() -> None:
    for run in (jit.optimize, fast_gelu_pass):
        with pytest.raises(TypeError, match="ScriptModule"):
            run(_Block())
