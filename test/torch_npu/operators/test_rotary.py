"""Rotary position embedding against its formula."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_npu


def rotate(x: torch.Tensor, mode: str) -> torch.Tensor:
    if mode == "half":
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1)
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


def rotary_mul(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mode: str = "half"
) -> torch.Tensor:
    wide = x.float()
    return (wide * cos.float() + rotate(wide, mode) * sin.float()).to(x.dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("mode", ["half", "interleave"])
@pytest.mark.covers("torch_npu.npu_rotary_mul")
def test_rotary_mul_and_its_gradients(compare: Any, dtype: torch.dtype, mode: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 5, 3, 8).to(dtype).requires_grad_()
    cos, sin = torch.randn(2, 1, 5, 1, 8).to(dtype)
    compare(
        torch_npu.npu_rotary_mul, rotary_mul, x, cos.requires_grad_(), sin.requires_grad_(), mode
    )


def test_unknown_mode_is_refused() -> None:
    x = torch.ones(1, 1, 1, 4, device="npu")
    with pytest.raises(ValueError, match="npu_rotary_mul: expected rotary_mode to be"):
        torch_npu.npu_rotary_mul(x, x, x, "quarter")


def test_rotation_matrix_is_refused() -> None:
    x = torch.ones(1, 1, 1, 4, device="npu")
    with pytest.raises(NotImplementedError, match="npu_rotary_mul: the argument rotate"):
        torch_npu.npu_rotary_mul(x, x, x, "half", torch.eye(4, device="npu"))
