"""What differentiating Ascend's own operators gives where there is no derivative: an error."""

from __future__ import annotations

import pytest
import torch

import torch_npu

# Their results hold no gradient: formats and sizes, integers, masks.
NOT_DIFFERENTIABLE = {
    "npu::_npu_dropout_gen_mask.Tensor",
    "npu::empty_with_format",
    "npu::get_npu_format",
    "npu::get_storage_size",
    "npu::npu_format_cast_",
    "npu::npu_format_cast_.acl_format",
    "npu::npu_quantize",
    "npu::unsafe_empty_with_format",
}


def test_every_operator_says_how_it_is_differentiated() -> None:
    def has(name: str, key: str) -> bool:
        return torch._C._dispatch_has_kernel_for_dispatch_key(name, key)

    names = [
        name
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith(("npu::", "atb::")) and not has(name, "CompositeImplicitAutograd")
    ]
    silent = {name for name in names if not has(name, "AutogradPrivateUse1")}
    assert silent == NOT_DIFFERENTIABLE


def test_the_gradient_of_a_gradient_is_refused_by_name() -> None:
    x = torch.randn(4, 8, device="npu", requires_grad=True)
    y, _ = torch_npu.npu_rms_norm(x, torch.ones(8, device="npu"))
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="npu_rms_norm_backward is not implemented"):
        gradient.sum().backward()


def test_an_operator_without_a_derivative_computes_but_is_not_differentiated() -> None:
    x = torch.randn(4, 8, device="npu", requires_grad=True)
    gamma = torch.ones(8, device="npu")
    y, _, total = torch_npu.npu_add_rms_norm(x, x.detach(), gamma)
    assert torch.equal(total.detach().cpu(), 2 * x.detach().cpu())
    with pytest.raises(RuntimeError, match="npu_add_rms_norm is not implemented"):
        y.sum().backward()
