"""Ascend's own activations against their formulas."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_npu


def swiglu(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    gate, value = x.float().chunk(2, dim)
    return (gate * torch.sigmoid(gate) * value).to(x.dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("dim", [-1, 0, 1])
@pytest.mark.covers("torch_npu.npu_swiglu")
def test_swiglu_and_its_gradient(compare: Any, dtype: torch.dtype, dim: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 6, 8).to(dtype).requires_grad_()
    compare(torch_npu.npu_swiglu, swiglu, x, dim)


def test_swiglu_of_strided_and_of_empty_input(compare: Any) -> None:
    compare(torch_npu.npu_swiglu, swiglu, torch.randn(8, 6).t().requires_grad_())
    compare(torch_npu.npu_swiglu, swiglu, torch.randn(0, 6))


def test_swiglu_of_an_odd_size_is_refused() -> None:
    with pytest.raises(RuntimeError, match="expected an even size in dimension -1"):
        torch_npu.npu_swiglu(torch.ones(2, 3, device="npu"))


def test_swiglu_of_a_dimension_that_is_not_there_is_refused() -> None:
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch_npu.npu_swiglu(torch.ones(2, 4, device="npu"), 2)


@pytest.mark.parametrize("name", ["npu_fast_gelu", "fast_gelu"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.covers("torch_npu.npu_fast_gelu", "torch_npu.fast_gelu")
def test_fast_gelu_and_its_gradient(compare: Any, name: str, dtype: torch.dtype) -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return (wide * torch.sigmoid(1.702 * wide)).to(x.dtype)

    x = torch.linspace(-4, 4, 24).view(2, 12).to(dtype).requires_grad_()
    compare(getattr(torch_npu, name), reference, x)
