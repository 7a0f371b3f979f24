"""Operators that the wheel takes by name: for a 910B, for tensors in private formats, and for all
tensors while operators are compiled before they run."""

from __future__ import annotations

from typing import Any

import torch
from check import DEVICE, equal, seeded
from torch import nn

import torch_npu

FRACTAL_NZ = 29
x = torch.linspace(-2, 2, 12).reshape(3, 4)
y = x.flip(0) * 0.7 + 0.1

# For a 910B -----------------------------------------------------------------------------------
first, second = torch.randn(2, 5, 3), torch.randn(2, 4, 3)
for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")):
    gradients = []
    for where in ("cpu", DEVICE):
        a, b = (t.clone().to(where).requires_grad_() for t in (first, second))
        distances = torch.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist")
        (distances.sin() * distances).sum().backward()
        gradients.append((distances.detach(), a.grad, b.grad))
    for left, right in zip(*gradients, strict=True):
        equal(right, left, f"cdist {p}")

for transpose_first in (False, True):
    shape, order = ((2, 2, 3), (2, 0, 1)) if not transpose_first else ((4, 3), (1, 0))
    got = torch_npu.npu_confusion_transpose(x.to(DEVICE), order, shape, transpose_first)
    want = x.permute(order).reshape(shape) if transpose_first else x.reshape(shape).permute(order)
    equal(got, want, f"confusion transpose, {transpose_first}")

host, device = seeded(lambda: nn.LSTMCell(4, 5))
for bias in (True, False):
    host, device = seeded(lambda bias=bias: nn.LSTMCell(4, 5, bias=bias))
    states = []
    for model, where in ((host, "cpu"), (device, DEVICE)):
        leaf = x.clone().to(where).requires_grad_()
        state = model(leaf)
        state = model(leaf * 0.5, state)
        (state[0].sin().sum() + state[1].cos().sum()).backward()
        states.append([*state, leaf.grad, *(p.grad for p in model.parameters())])
    for left, right in zip(*states, strict=True):
        equal(right, left, f"LSTM cell, bias {bias}")

# In a private format --------------------------------------------------------------------------
torch_npu.npu.config.allow_internal_format = True
# fmt: off
UNARY = [
    "abs", "acos", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfc", "erfinv",
    "exp", "expm1", "floor", "log", "log1p", "neg", "reciprocal", "relu", "round", "rsqrt",
    "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]
BINARY = [
    "add", "sub", "mul", "div", "maximum", "minimum", "atan2", "pow", "eq", "ne", "lt", "le", "gt",
    "ge", "floor_divide", "remainder",
]
# fmt: on


def compare(name: str, *arguments: Any) -> None:
    """With matrices in the private format."""
    formatted = [t.to(DEVICE) if isinstance(t, torch.Tensor) else t for t in arguments]
    for i, t in enumerate(formatted):
        if isinstance(t, torch.Tensor) and t.dim() > 1:
            formatted[i] = torch_npu.npu_format_cast(t, FRACTAL_NZ)
            assert torch_npu.get_npu_format(formatted[i]) == FRACTAL_NZ
    got = getattr(torch, name)(*formatted)
    torch.testing.assert_close(
        got.cpu(), getattr(torch, name)(*arguments), equal_nan=True, rtol=1e-4, atol=1e-5
    )


def run_all() -> None:
    for name in UNARY:
        compare(name, x / 2.5)
    for name in BINARY:
        compare(name, x, y.abs())
    compare("isfinite", torch.tensor([[1.0, float("inf"), float("nan")]]))
    compare("nonzero", torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]))
    compare("nonzero", torch.zeros(2, 3))
    compare("mm", x, y.t().contiguous())
    compare("addmm", torch.arange(3.0), x, y.t().contiguous())
    for name in ("sum", "mean", "amax", "amin"):
        for dims in ((0,), (0, 1)):
            compare(name, x, dims, True)
            compare(name, x, dims)
    formatted = torch_npu.npu_format_cast(x.to(DEVICE), FRACTAL_NZ)
    equal(torch.cat([formatted, formatted], 1), torch.cat([x, x], 1), "cat")
    equal(torch_npu.npu_transpose(formatted, (1, 0)), x.t(), "transpose")
    equal(torch_npu.npu_format_cast(formatted.half(), 2), x.half(), "cast")


run_all()

# Compiled before they run -----------------------------------------------------------------------
torch.npu.set_compile_mode(jit_compile=True)
run_all()
torch.manual_seed(1)
drawn = torch.randn(100_000, device=DEVICE).cpu()
assert abs(drawn.mean()) < 0.02
assert abs(drawn.std() - 1) < 0.02
uniform = torch.rand(100_000, device=DEVICE).cpu()
assert uniform.min() >= 0
assert uniform.max() < 1
assert abs(uniform.mean() - 0.5) < 0.01
torch.manual_seed(1)
equal(torch.randn(100_000, device=DEVICE), drawn, "the same seed")
