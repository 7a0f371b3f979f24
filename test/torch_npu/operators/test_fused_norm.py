"""Root mean square normalisation against its formula."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_npu


def rms_norm(
    x: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor]:
    dims = tuple(range(-gamma.dim(), 0))
    wide = x.float()
    rstd = torch.rsqrt(wide.pow(2).mean(dims, keepdim=True) + epsilon)
    return (wide * rstd * gamma.float()).to(x.dtype), rstd.detach()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.covers("torch_npu.npu_rms_norm")
def test_rms_norm_and_its_gradients(compare: Any, dtype: torch.dtype, dims: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 4, 8).to(dtype).requires_grad_()
    gamma = torch.randn(x.shape[-dims:]).to(dtype).requires_grad_()
    compare(torch_npu.npu_rms_norm, rms_norm, x, gamma, 1e-5)


def test_rms_norm_of_strided_and_of_empty_input(compare: Any) -> None:
    compare(torch_npu.npu_rms_norm, rms_norm, torch.randn(8, 3).t(), torch.randn(8))
    compare(torch_npu.npu_rms_norm, rms_norm, torch.randn(0, 8), torch.randn(8))


def test_rms_norm_with_gamma_in_float32(compare: Any) -> None:
    x = torch.randn(3, 8).half().requires_grad_()
    compare(torch_npu.npu_rms_norm, rms_norm, x, torch.randn(8, requires_grad=True))


def test_only_the_wanted_gradient_is_computed() -> None:
    x = torch.randn(3, 8, device="npu")
    gamma = torch.ones(8, device="npu", requires_grad=True)
    torch_npu.npu_rms_norm(x, gamma)[0].sum().backward()
    assert x.grad is None
    assert gamma.grad is not None


def test_rstd_has_no_gradient() -> None:
    x = torch.randn(3, 8, device="npu", requires_grad=True)
    y, rstd = torch_npu.npu_rms_norm(x, torch.ones(8, device="npu"))
    assert y.requires_grad
    assert not rstd.requires_grad


def test_gamma_that_does_not_fit_is_refused() -> None:
    with pytest.raises(RuntimeError, match="expected gamma to have the sizes"):
        torch_npu.npu_rms_norm(torch.ones(2, 4, device="npu"), torch.ones(3, device="npu"))


def test_backward_notices_a_changed_input() -> None:
    x = torch.randn(3, 8, device="npu", requires_grad=True)
    scaled = x * 1
    y = torch_npu.npu_rms_norm(scaled, torch.ones(8, device="npu"))[0]
    scaled.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_forward_mode_is_refused() -> None:
    x = torch.randn(3, 8, device="npu")
    gamma = torch.ones(8, device="npu")
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        with pytest.raises(NotImplementedError, match="reverse"):
            torch_npu.npu_rms_norm(dual, gamma)


def test_gemma_rms_norm(compare: Any) -> None:
    def reference(x: torch.Tensor, gamma: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return rms_norm(x, 1 + gamma)

    compare(torch_npu.npu_gemma_rms_norm, reference, torch.randn(2, 8), torch.randn(8))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_add_rms_norm_gives_the_sum_too(compare: Any, dtype: torch.dtype) -> None:
    def reference(x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor) -> tuple[Any, ...]:
        total = x1 + x2
        return (*rms_norm(total, gamma), total)

    x1, x2 = torch.randn(2, 3, 8).to(dtype), torch.randn(2, 3, 8).to(dtype)
    compare(torch_npu.npu_add_rms_norm, reference, x1, x2, torch.randn(8).to(dtype))


def test_integers_are_refused() -> None:
    x = torch.ones(2, 4, dtype=torch.int32, device="npu")
    for operator in (torch_npu.npu_rms_norm, torch_npu.npu_gemma_rms_norm):
        with pytest.raises(RuntimeError, match="of a floating point dtype"):
            operator(x, x[0])
    with pytest.raises(RuntimeError, match="of a floating point dtype"):
        torch_npu.npu_add_rms_norm(x, x, x[0])


def test_add_rms_norm_does_not_broadcast() -> None:
    x = torch.ones(2, 4, device="npu")
    with pytest.raises(RuntimeError, match="expected x1 and x2 of the same sizes"):
        torch_npu.npu_add_rms_norm(x, x[:1], x[0])


def test_fake_tensors_have_the_operator_s_sizes_and_dtypes() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(2, 3, 8, device="npu", dtype=torch.float16)
        y, rstd = torch.ops.npu.npu_rms_norm(x, torch.empty(8, device="npu", dtype=torch.float16))
    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    assert (rstd.shape, rstd.dtype) == ((2, 3, 1), torch.float32)
    assert y.device.type == "npu"
