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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_matrix_takes_the_mode_s_place(compare: Any, dtype: torch.dtype) -> None:
    def reference(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, *rest: Any) -> Any:
        turned = x.float() @ rest[1].float()
        return (x.float() * cos.float() + turned * sin.float()).to(x.dtype)

    torch.manual_seed(0)
    x, matrix = torch.randn(2, 5, 3, 8).to(dtype), torch.randn(8, 8).to(dtype)
    cos, sin = torch.randn(2, 1, 5, 1, 8).to(dtype)
    compare(torch_npu.npu_rotary_mul, reference, x, cos, sin, "half", matrix)


def test_the_gradient_with_a_matrix_is_refused() -> None:
    x = torch.ones(1, 1, 1, 4, device="npu", requires_grad=True)
    cos = torch.ones(1, 1, 1, 4, device="npu")
    out = torch_npu.npu_rotary_mul(x, cos, cos, "half", torch.eye(4, device="npu"))
    with pytest.raises(NotImplementedError, match="npu_rotary_mul: there is no gradient"):
        out.sum().backward()


def test_a_matrix_of_another_size_is_refused() -> None:
    x = torch.ones(1, 1, 1, 4, device="npu")
    with pytest.raises(RuntimeError, match="a rotation matrix"):
        torch_npu.npu_rotary_mul(x, x, x, "half", torch.eye(3, device="npu"))
