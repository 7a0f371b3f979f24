"""Transformer modules on npu: training, and inference with its fast path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

Check = Callable[..., None]


def layer(**options: Any) -> torch.nn.TransformerEncoderLayer:
    options = {"dropout": 0.0, "batch_first": True, **options}
    return torch.nn.TransformerEncoderLayer(8, 2, 16, **options)


def encoder(nested: bool = False, **options: Any) -> torch.nn.TransformerEncoder:
    return torch.nn.TransformerEncoder(layer(**options), 2, enable_nested_tensor=nested)


def batch(grad: bool = True) -> torch.Tensor:
    return torch.randn(2, 5, 8, requires_grad=grad)


PADDING = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
CAUSAL = torch.nn.Transformer.generate_square_subsequent_mask(5)
MASKS: dict[str, dict[str, Any]] = {
    "none": {},
    "padding": {"src_key_padding_mask": PADDING},
    "causal": {"mask": CAUSAL, "is_causal": True},
    "causal and padding": {
        "mask": CAUSAL.isinf(),
        "src_key_padding_mask": PADDING,
    },
}


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("masks", MASKS)
def test_encoder_in_training_matches_the_cpu(check_module: Check, masks: str) -> None:
    check_module(encoder(), batch(), **MASKS[masks])


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize(
    "options", [{"norm_first": True}, {"activation": "gelu"}, {"batch_first": False}]
)
def test_encoder_options_match_the_cpu(check_module: Check, options: dict[str, Any]) -> None:
    check_module(encoder(**options), batch())


@pytest.mark.usefixtures("no_fallback")
def test_encoder_layer_in_training_with_dropout_gives_gradients() -> None:
    module = layer(dropout=0.1).to("npu")
    x = batch().detach().to("npu")
    module(x).square().sum().backward()
    for parameter in module.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all().item()


@pytest.mark.usefixtures("no_fallback")
def test_decoder_in_training_matches_the_cpu(check_module: Check) -> None:
    decoder_layer = torch.nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    decoder = torch.nn.TransformerDecoder(decoder_layer, 2)
    check_module(decoder, batch(), torch.randn(2, 6, 8, requires_grad=True), tgt_mask=CAUSAL)


@pytest.mark.usefixtures("no_fallback")
def test_whole_transformer_matches_the_cpu(check_module: Check) -> None:
    module = torch.nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    check_module(module, torch.randn(2, 6, 8), batch(grad=False), tgt_mask=CAUSAL)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("average", [False, True])
def test_multihead_attention_in_training_matches_the_cpu(
    check_module: Check, need_weights: bool, average: bool
) -> None:
    module = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    check_module(
        module, batch(), batch(), batch(),
        need_weights=need_weights, average_attn_weights=average,
    )  # fmt: skip


@pytest.mark.usefixtures("no_fallback")
def test_multihead_attention_over_other_dimensions_matches_the_cpu(check_module: Check) -> None:
    module = torch.nn.MultiheadAttention(8, 2, kdim=6, vdim=4, add_bias_kv=True, batch_first=True)
    keys = torch.randn(2, 7, 6, requires_grad=True)
    values = torch.randn(2, 7, 4, requires_grad=True)
    check_module(module, batch(), keys, values)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("options", [{}, {"norm_first": True}, {"activation": "gelu"}])
def test_encoder_in_inference_matches_the_cpu(
    check_module: Check, masks: str, options: dict[str, Any]
) -> None:
    module = encoder(**options).eval()
    with torch.inference_mode():
        check_module(module, batch(grad=False), **MASKS[masks])


def test_encoder_in_inference_takes_the_fast_path() -> None:
    module = layer().to("npu").eval()
    with torch.profiler.profile() as profile, torch.no_grad():
        module(batch().detach().to("npu"))
    names = {event.key for event in profile.key_averages()}
    assert "aten::_transformer_encoder_layer_fwd" in names


def test_padded_encoder_in_inference_takes_nested_tensors(check_module: Check) -> None:
    module = encoder(nested=True).eval()
    with torch.no_grad():
        check_module(module, batch(grad=False), src_key_padding_mask=PADDING)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_multihead_attention_in_inference_matches_the_cpu(
    check_module: Check, need_weights: bool, average: bool, padded: bool
) -> None:
    module = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = batch(grad=False)
    with torch.no_grad():
        check_module(
            module, x, x, x,
            key_padding_mask=PADDING if padded else None,
            need_weights=need_weights, average_attn_weights=average,
        )  # fmt: skip


def test_fast_path_refuses_projections_that_do_not_fit() -> None:
    x = batch(grad=False).npu()
    weight, bias = torch.zeros(24, 8).npu(), torch.zeros(24).npu()
    with pytest.raises(RuntimeError, match="expected an output projection of 8 features"):
        torch._native_multi_head_attention(
            x, x, x, 8, 2, weight, bias, torch.zeros(6, 8).npu(), torch.zeros(8).npu()
        )
    with pytest.raises(RuntimeError, match="does not divide evenly into 3 heads"):
        torch._native_multi_head_attention(x, x, x, 8, 3, weight, bias, weight, bias)


def test_encoder_in_bfloat16_matches_the_cpu(check_module: Check) -> None:
    check_module(encoder().to(torch.bfloat16), batch().detach().bfloat16().requires_grad_())


def test_training_learns_to_copy() -> None:
    module = torch.nn.Sequential(layer(), torch.nn.Linear(8, 8)).to("npu")
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01)
    x = torch.randn(16, 5, 8).to("npu")
    losses = []
    for _ in range(80):
        loss = (module(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3


WITHOUT_ATTENTION = """
import copy, torch, torch_npu
layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
npu_layer = copy.deepcopy(layer).to("npu")
x = torch.randn(2, 5, 8)
mask = torch.eye(5).bool()
there = npu_layer(x.to("npu"), src_mask=mask.to("npu"))
torch.testing.assert_close(there.cpu(), layer(x, src_mask=mask))
there.sum().backward()
assert torch._fused_sdp_choice(*[torch.ones(1, 1, 2, 2, device="npu")] * 3) == 0
layer.eval(), npu_layer.eval()
with torch.no_grad():
    torch.testing.assert_close(npu_layer(x.to("npu")).cpu(), layer(x))
    attention, npu_attention = layer.self_attn, npu_layer.self_attn
    there = npu_attention(*[x.to("npu")] * 3)
    torch.testing.assert_close([t.cpu() for t in there], list(attention(x, x, x)))
assert torch.npu.fallback_counts()["aten::_transformer_encoder_layer_fwd"] == 1
assert torch.npu.fallback_counts()["aten::_native_multi_head_attention"] == 1
"""


def test_transformer_works_under_a_cann_without_fused_attention(
    run_without: Callable[..., None],
) -> None:
    run_without(
        WITHOUT_ATTENTION,
        "softcannScaledDotProductAttention",
        "softcannSafeSoftmax",
        "softcannNativeMultiHeadAttention",
        "softcannTransformerEncoderLayer",
    )
