"""The cast policies of torch.autocast on npu."""

from __future__ import annotations

import pytest
import torch

import torch_npu  # noqa: F401

LOWER = [torch.float16, torch.bfloat16]


def ones(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(*sizes, dtype=dtype, device="npu")


@pytest.mark.parametrize("dtype", LOWER)
def test_matrix_products_run_in_the_lower_precision(dtype: torch.dtype) -> None:
    with torch.autocast("npu", dtype=dtype):
        assert torch.mm(ones(2, 2), ones(2, 2)).dtype == dtype
        assert torch.nn.functional.linear(ones(2, 3), ones(4, 3), ones(4)).dtype == dtype
        assert (ones(2, 2) @ ones(2, 2)).dtype == dtype


@pytest.mark.parametrize("dtype", LOWER)
def test_sensitive_functions_run_in_float32(dtype: torch.dtype) -> None:
    with torch.autocast("npu", dtype=dtype):
        assert torch.exp(ones(2, dtype=dtype)).dtype == torch.float32
        assert torch.softmax(ones(2, dtype=dtype), 0).dtype == torch.float32
        assert torch.sum(ones(2, dtype=dtype)).dtype == torch.float32
        assert torch.norm(ones(2, dtype=dtype)).dtype == torch.float32


def test_explicit_dtype_of_a_reduction_wins() -> None:
    with torch.autocast("npu", dtype=torch.bfloat16):
        result = torch.sum(ones(2, dtype=torch.bfloat16), dtype=torch.bfloat16)
    assert result.dtype == torch.bfloat16


def test_promoting_functions_take_the_widest_dtype() -> None:
    with torch.autocast("npu", dtype=torch.bfloat16):
        result = torch.addcmul(ones(2), ones(2, dtype=torch.bfloat16), ones(2))
    assert result.dtype == torch.float32


def test_other_functions_keep_their_dtype() -> None:
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert torch.relu(ones(2, dtype=torch.bfloat16)).dtype == torch.bfloat16
        assert torch.relu(ones(2)).dtype == torch.float32


def test_double_and_integers_are_left_alone() -> None:
    with torch.autocast("npu", dtype=torch.bfloat16):
        double = ones(2, 2, dtype=torch.float64)
        assert torch.mm(double, double).dtype == torch.float64


def test_cpu_tensors_are_left_alone() -> None:
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype == torch.float32


def test_disabled_region_inside_an_enabled_one() -> None:
    with torch.autocast("npu", dtype=torch.bfloat16):
        with torch.autocast("npu", enabled=False):
            assert torch.mm(ones(2, 2), ones(2, 2)).dtype == torch.float32
        assert torch.mm(ones(2, 2), ones(2, 2)).dtype == torch.bfloat16
    assert torch.mm(ones(2, 2), ones(2, 2)).dtype == torch.float32


def test_binary_cross_entropy_names_the_safe_loss() -> None:
    with (
        torch.autocast("npu", dtype=torch.float16),
        pytest.raises(RuntimeError, match="binary_cross_entropy_with_logits"),
    ):
        torch.nn.functional.binary_cross_entropy(ones(2), ones(2))


def test_gradients_have_the_parameters_dtype() -> None:
    weight = ones(3, 3).requires_grad_()
    with torch.autocast("npu", dtype=torch.bfloat16):
        loss = (ones(2, 3) @ weight).float().sum()
    loss.backward()
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32
    assert weight.grad.cpu().tolist() == [[2, 2, 2]] * 3
