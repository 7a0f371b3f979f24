"""Scaled dot product attention on npu: which kernel is chosen, and its values and gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import multi_head_attention_forward, scaled_dot_product_attention

Check = Callable[..., None]
MATH, OVERRIDEABLE = 0, 4


def heads(
    batch: int = 2,
    count: int = 4,
    length: int = 7,
    size: int = 8,
    dtype: torch.dtype = torch.float32,
    grad: bool = True,
) -> torch.Tensor:
    return torch.randn(batch, count, length, size).to(dtype).requires_grad_(grad)


def choice(*arguments: torch.Tensor, mask: torch.Tensor | None = None, **options: object) -> int:
    there = [argument.detach().to("npu") for argument in arguments]
    npu_mask = None
    if mask is not None:
        npu_mask = mask.detach().to("npu").requires_grad_(mask.requires_grad)
    return torch._fused_sdp_choice(*there, npu_mask, **options)


MASKS = {
    "none": lambda: None,
    "additive": lambda: torch.randn(7, 9),
    "broadcast over queries": lambda: torch.randn(1, 9),
    "per batch": lambda: torch.randn(2, 1, 7, 9),
    "per head": lambda: torch.randn(2, 4, 7, 9),
    "boolean": lambda: torch.rand(7, 9).add(torch.eye(7, 9)) > 0.5,
}


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("mask", MASKS)
def test_fused_attention_matches_the_cpu(check_function: Check, mask: str) -> None:
    q, k, v = heads(), heads(length=9), heads(length=9)
    bias = MASKS[mask]()
    assert choice(q, k, v, mask=bias) == OVERRIDEABLE
    check_function(scaled_dot_product_attention, q, k, v, attn_mask=bias)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("options", [{"is_causal": True}, {"scale": 0.3}])
def test_fused_attention_options_match_the_cpu(
    check_function: Check, options: dict[str, object]
) -> None:
    q, k, v = heads(), heads(), heads()
    assert choice(q, k, v, **options) == OVERRIDEABLE
    check_function(scaled_dot_product_attention, q, k, v, **options)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_dtypes_match_the_cpu(check_function: Check, dtype: torch.dtype) -> None:
    q, k, v = heads(dtype=dtype), heads(dtype=dtype), heads(dtype=dtype)
    assert choice(q, k, v) == OVERRIDEABLE
    check_function(scaled_dot_product_attention, q, k, v, is_causal=True)


@pytest.mark.usefixtures("no_fallback")
def test_heads_split_off_the_last_dimension_match_the_cpu(check_function: Check) -> None:
    def attention(qkv: torch.Tensor) -> torch.Tensor:
        q, k, v = qkv.unflatten(-1, (3, 4, 8)).movedim(-2, 1).unbind(-2)
        return scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    check_function(attention, torch.randn(2, 7, 96, requires_grad=True))


@pytest.mark.usefixtures("no_fallback")
def test_fewer_key_heads_than_query_heads_match_the_cpu(check_function: Check) -> None:
    q, k, v = heads(), heads(count=2), heads(count=2)
    assert choice(q, k, v, enable_gqa=True) == OVERRIDEABLE
    check_function(scaled_dot_product_attention, q, k, v, enable_gqa=True)


@pytest.mark.usefixtures("no_fallback")
def test_gradient_of_some_inputs_only(check_function: Check) -> None:
    q, k, v = heads(grad=False), heads(grad=False), heads()
    check_function(scaled_dot_product_attention, q, k, v)


def test_long_sequences_match_the_cpu(check_function: Check) -> None:
    q, k, v = (heads(batch=1, count=2, length=600, size=32) for _ in range(3))
    check_function(scaled_dot_product_attention, q, k, v, is_causal=True)


def transposed(x: torch.Tensor) -> torch.Tensor:
    return x.mT.contiguous().mT


UNFUSED = {
    "three dimensions": lambda: (heads()[0], heads()[0], heads()[0]),
    "another head size of values": lambda: (heads(), heads(), heads(size=5)),
    "strided head size": lambda: tuple(transposed(heads()) for _ in range(3)),
    "no batch": lambda: (heads(batch=0), heads(batch=0), heads(batch=0)),
    "no keys": lambda: (heads(), heads(length=0), heads(length=0)),
}


@pytest.mark.parametrize("name", UNFUSED)
def test_what_the_kernel_cannot_do_is_computed_by_math(check_function: Check, name: str) -> None:
    arguments = [x.detach().requires_grad_() for x in UNFUSED[name]()]
    assert torch._fused_sdp_choice(*[x.to("npu") for x in arguments]) == MATH
    check_function(scaled_dot_product_attention, *arguments)


def test_gradient_of_the_mask_is_computed_by_math(check_function: Check) -> None:
    mask = torch.randn(7, 7, requires_grad=True)
    q, k, v = heads(), heads(), heads()
    assert choice(q, k, v, mask=mask) == MATH
    check_function(scaled_dot_product_attention, q, k, v, mask)


@pytest.mark.usefixtures("no_fallback")
def test_dropout_drops_and_keeps_the_expectation() -> None:
    q, k = torch.randn(1, 1, 64, 16).npu(), torch.randn(1, 1, 512, 16).npu()
    v = torch.ones(1, 1, 512, 16).npu()
    assert torch._fused_sdp_choice(q, k, v, dropout_p=0.5) == MATH
    result = scaled_dot_product_attention(q, k, v, dropout_p=0.5).cpu()
    assert result.std() > 0
    assert abs(result.mean() - 1) < 0.1


@pytest.mark.parametrize(
    ("backends", "expected"),
    [
        ([SDPBackend.MATH], MATH),
        ([SDPBackend.FLASH_ATTENTION], OVERRIDEABLE),
        ([SDPBackend.OVERRIDEABLE], OVERRIDEABLE),
        ([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], OVERRIDEABLE),
        ([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH], MATH),
    ],
)
def test_enabled_backends_limit_the_choice(
    check_function: Check, backends: list[SDPBackend], expected: int
) -> None:
    q, k, v = heads(), heads(), heads()
    with sdpa_kernel(backends):
        assert choice(q, k, v) == expected
    npu = [x.detach().to("npu") for x in (q, k, v)]
    with sdpa_kernel(backends):
        there = scaled_dot_product_attention(*npu)
    torch.testing.assert_close(there.cpu(), scaled_dot_product_attention(q, k, v).detach())


def test_priority_of_backends_is_kept() -> None:
    q, k, v = heads(), heads(), heads()
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert choice(q, k, v) == MATH
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True):
        assert choice(q, k, v) == OVERRIDEABLE


def test_backend_that_cannot_is_named_in_an_error() -> None:
    q, k, v = (x.detach().npu() for x in (heads(), heads(), heads()))
    refused = pytest.raises(RuntimeError, match="No available kernel")
    warned = pytest.warns(UserWarning, match="dropout")
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]), warned, refused:
        scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    refused = pytest.raises(RuntimeError, match="No available kernel")
    with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION]), refused:
        scaled_dot_product_attention(q, k, v)


def test_fused_operator_refuses_a_gradient_of_its_mask() -> None:
    q, k, v = (x.detach().npu() for x in (heads(), heads(), heads()))
    out, logsumexp, *_ = torch.ops.aten._scaled_dot_product_fused_attention_overrideable(
        q, k, v, torch.zeros(7, 7).npu()
    )
    assert logsumexp.shape == (2, 4, 7)
    with pytest.raises(RuntimeError, match="no gradient for its mask"):
        torch.ops.aten._scaled_dot_product_fused_attention_overrideable_backward(
            torch.ones_like(out), q, k, v, torch.zeros(7, 7).npu(), [True] * 4, out, logsumexp,
            None, None, 7, 7, 0.0, False, torch.tensor(0), torch.tensor(0),
        )  # fmt: skip


def test_masks_without_a_row_left_match_the_cpu(check_function: Check) -> None:
    mask = torch.ones(7, 7, dtype=torch.bool)
    mask[2] = False
    check_function(scaled_dot_product_attention, heads(), heads(), heads(), mask)


@pytest.mark.usefixtures("no_fallback")
def test_math_with_a_mask_matches_the_cpu(check_function: Check) -> None:
    mask = torch.rand(7, 7) > 0.5
    mask[2] = False
    with sdpa_kernel([SDPBackend.MATH]):
        check_function(scaled_dot_product_attention, heads(), heads(), heads(), mask)


def test_safe_softmax_gives_zeros_for_a_row_left_out() -> None:
    x = torch.tensor([[1.0, 2.0], [-torch.inf, -torch.inf]])
    for dim in (0, -1):
        there = torch._safe_softmax(x.to("npu"), dim)
        torch.testing.assert_close(there.cpu(), torch._safe_softmax(x, dim))
    assert torch._safe_softmax(x.to("npu"), 1, torch.float64).dtype == torch.float64
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch._safe_softmax(x.to("npu"), 2)


def test_autocast_computes_attention_in_half_precision() -> None:
    q, k, v = (x.detach().npu() for x in (heads(), heads(), heads()))
    with torch.autocast("npu", dtype=torch.bfloat16):
        result = scaled_dot_product_attention(q, k, v)
    assert result.dtype == torch.bfloat16
    expected = scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(result.float().cpu(), expected.cpu(), rtol=5e-2, atol=5e-2)


ATTENTION_MASKS = {
    "none": {},
    # Every query sees itself: a row that is masked whole is NaN, on the CPU too.
    "attention mask": {"attn_mask": (torch.rand(5, 5) > 0.5) & ~torch.eye(5).bool()},
    "padding": {"key_padding_mask": torch.tensor([[False] * 5, [False] * 3 + [True] * 2])},
    "causal": {"attn_mask": torch.ones(5, 5).triu(1).bool(), "is_causal": True},
}


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("name", ATTENTION_MASKS)
def test_multi_head_attention_forward_matches_the_cpu(
    check_function: Check, name: str, need_weights: bool
) -> None:
    x = torch.randn(5, 2, 8, requires_grad=True)
    weight, bias = torch.randn(24, 8, requires_grad=True), torch.randn(24, requires_grad=True)
    projection = torch.randn(8, 8, requires_grad=True), torch.randn(8, requires_grad=True)

    def attention(
        x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, pw: torch.Tensor, pb: torch.Tensor,
        **masks: object,
    ) -> object:  # fmt: skip
        return multi_head_attention_forward(
            x, x, x, 8, 2, w, b, None, None, False, 0.0, pw, pb,
            need_weights=need_weights, **masks,
        )  # fmt: skip

    check_function(attention, x, weight, bias, *projection, **ATTENTION_MASKS[name])
