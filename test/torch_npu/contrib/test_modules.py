"""Layers of translation and quantised models, dropout and the prefetcher."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from torch_npu.contrib import module
from torch_npu.contrib.module import activations, multihead_attention

npu = torch.npu


@pytest.mark.covers(
    "torch_npu.contrib.module.activations.Mish",
    "torch_npu.contrib.module.activations.Mish.forward",
    "torch_npu.contrib.module.activations.SiLU",
    "torch_npu.contrib.module.activations.SiLU.forward",
)
@pytest.mark.parametrize(("name", "same"), [("Mish", F.mish), ("SiLU", F.silu)])
def test_activations_are_pytorchs_and_say_so(name: str, same) -> None:
    x = torch.randn(7, device="npu")
    for made in (activations.Mish, activations.SiLU):
        with pytest.warns(FutureWarning, match=rf"use torch\.nn\.{made.__name__}"):
            layer = made()
        y = layer(x)
        if made.__name__ == name:
            torch.testing.assert_close(y, same(x))
    assert activations.Swish is activations.SiLU


@pytest.mark.covers(
    "torch_npu.contrib.module.bidirectional_lstm.BiLSTM",
    "torch_npu.contrib.module.bidirectional_lstm.BiLSTM.forward",
)
def test_bidirectional_lstm_is_pytorchs() -> None:
    with pytest.warns(FutureWarning, match="bidirectional=True"):
        layer = module.BiLSTM(4, 3).npu()
    both = torch.nn.LSTM(4, 3, bidirectional=True)
    for suffix, part in (("", layer.fw_rnn), ("_reverse", layer.bw_rnn)):
        for name, value in part.state_dict().items():
            getattr(both, name + suffix).data.copy_(value.cpu())
    x = torch.randn(5, 2, 4)
    torch.testing.assert_close(layer(x.npu()).cpu(), both(x)[0], atol=1e-5, rtol=1e-5)


def _share_of_zeros(x: torch.Tensor) -> float:
    return (x == 0).float().mean().item()


@pytest.mark.covers(
    "torch_npu.contrib.module.NpuDropPath",
    "torch_npu.contrib.module.NpuDropPath.forward",
    "torch_npu.contrib.module.NpuDropPath.enable_droppath_ensemble",
)
def test_whole_samples_are_dropped() -> None:
    model = torch.nn.Sequential(module.NpuDropPath(0.25), module.NpuDropPath(0.0)).npu()
    module.NpuDropPath.enable_droppath_ensemble(model)
    x = torch.ones(4000, 3, 2, device="npu")
    results = [model(x) for _ in range(3)]
    for y in results:
        assert sorted(y.unique().tolist()) == pytest.approx([0, 4 / 3])
        assert _share_of_zeros(y) == pytest.approx(0.25, abs=0.04)
        assert torch.equal(y.amin((1, 2)), y.amax((1, 2)))
    assert not torch.equal(results[1], results[2])
    assert torch.equal(model.eval()(x), x)
    with pytest.raises(ValueError, match="below 1"):
        module.NpuDropPath(1.0)


@pytest.mark.covers(
    "torch_npu.contrib.module.NpuCachedDropout",
    "torch_npu.contrib.module.NpuCachedDropout.forward",
    "torch_npu.contrib.module.NpuCachedDropout.enable_dropout_ensemble",
)
def test_cached_dropout_drops_in_training_only() -> None:
    model = torch.nn.Sequential(module.NpuCachedDropout(0.4, module_name="test")).npu()
    module.NpuCachedDropout.enable_dropout_ensemble(model)
    x = torch.ones(20_000, device="npu", requires_grad=True)
    results = [model(x) for _ in range(3)]
    for y in results:
        assert _share_of_zeros(y) == pytest.approx(0.4, abs=0.03)
        assert y.max().item() == pytest.approx(1 / 0.6)
    assert not torch.equal(results[1], results[2])
    results[2].sum().backward()
    assert torch.equal(x.grad, results[2].detach())
    layer = model[0]
    mask = layer([(8, 9), torch.float32, "npu"])
    assert (mask.dtype, mask.shape) == (torch.bool, (8, 9))
    assert layer.eval()([(8, 9), torch.float32, "npu"]) is None
    assert torch.equal(layer(x), x)
    with pytest.raises(TypeError, match="tensor or"):
        layer("x")
    assert module.NpuFairseqDropout is module.NpuCachedDropout


@pytest.mark.covers(
    "torch_npu.contrib.module.DropoutWithByteMask",
    "torch_npu.contrib.module.DropoutWithByteMask.forward",
)
def test_byte_mask_dropout_is_a_module() -> None:
    layer = module.DropoutWithByteMask(0.5)
    x = torch.ones(10_000, device="npu")
    assert _share_of_zeros(layer(x)) == pytest.approx(0.5, abs=0.04)
    assert torch.equal(layer.eval()(x), x)
    with pytest.raises(ValueError, match=r"1\.5"):
        module.DropoutWithByteMask(1.5)
    with pytest.raises(ValueError, match="in-place"):
        module.DropoutWithByteMask(0.5, inplace=True)(x)


@pytest.mark.covers(
    "torch_npu.contrib.module.Prefetcher",
    "torch_npu.contrib.module.Prefetcher.next",
    "torch_npu.contrib.module.Prefetcher.preload",
)
@pytest.mark.parametrize("own_stream", [True, False])
def test_prefetcher_gives_every_batch_in_order(own_stream: bool) -> None:
    batches = [(torch.full((3,), float(i)), torch.tensor([i])) for i in range(4)]
    fetcher = module.Prefetcher(batches, npu.Stream() if own_stream else None)
    seen = []
    while True:
        batch, target = fetcher.next()
        if batch is None:
            assert target is None
            break
        assert batch.device.type == target.device.type == "npu"
        seen.append((batch.tolist(), target.item()))
    assert seen == [([float(i)] * 3, i) for i in range(4)]
    assert fetcher.next() == (None, None)


def _attention(layer, query, key, value, mask, batch: int) -> torch.Tensor:
    size = layer.head_dim

    def heads(projection, rows):
        return projection(rows).view(batch, -1, layer.num_heads, size).transpose(1, 2)

    attended = F.scaled_dot_product_attention(
        heads(layer.q_proj, query), heads(layer.k_proj, key), heads(layer.v_proj, value), mask
    )
    return layer.out_proj(attended.transpose(1, 2).reshape(-1, layer.embed_dim))


@pytest.mark.covers(
    "torch_npu.contrib.module.MultiheadAttention",
    "torch_npu.contrib.module.MultiheadAttention.forward",
    "torch_npu.contrib.module.MultiheadAttention.multi_attn",
    "torch_npu.contrib.module.MultiheadAttention.apply_sparse_mask",
    "torch_npu.contrib.module.MultiheadAttention.reset_parameters",
    "torch_npu.contrib.module.MultiheadAttention.transpose_for_scores",
    "torch_npu.contrib.module.multihead_attention.Matmul_transpose",
)
def test_attention_over_folded_sequences() -> None:
    layer = module.MultiheadAttention(16, 2, kdim=6, vdim=5, encoder_decoder_attention=True)
    query, key, value = torch.randn(2 * 3, 16), torch.randn(2 * 4, 6), torch.randn(2 * 4, 5)
    mask = torch.randn(2, 1, 3, 4)
    expected = _attention(layer, query, key, value, mask, 2)
    layer.npu()
    attended, weights = layer(query.npu(), key.npu(), value.npu(), 2, 3, 4, mask.npu())
    assert weights is None
    torch.testing.assert_close(attended.cpu(), expected, atol=1e-5, rtol=1e-5)
    product = multihead_attention.Matmul_transpose(query.npu(), query.npu())
    torch.testing.assert_close(product.cpu(), query @ query.T)
    before = layer.q_proj.weight.clone()
    layer.reset_parameters()
    assert not torch.equal(layer.q_proj.weight, before)


@pytest.mark.covers(
    "torch_npu.contrib.module.MultiheadAttention.upgrade_state_dict_named",
    "torch_npu.contrib.module.MultiheadAttention.prepare_for_onnx_export_",
    "torch_npu.contrib.module.MultiheadAttention.prepare_for_tpu_",
)
def test_joint_projections_of_old_checkpoints_are_split() -> None:
    layer = module.MultiheadAttention(4, 2, self_attention=True)
    joint_weight, joint_bias = torch.randn(12, 4), torch.randn(12)
    state = {"in_proj_weight": joint_weight, "in_proj_bias": joint_bias}
    state |= {f"out_proj.{name}": value for name, value in layer.out_proj.state_dict().items()}
    named = {f"block.{name}": value for name, value in state.items()}
    layer.upgrade_state_dict_named(state, "")
    layer.load_state_dict(state)
    assert torch.equal(layer.k_proj.weight, joint_weight[4:8])
    assert torch.equal(layer.v_proj.bias, joint_bias[8:])
    layer.upgrade_state_dict_named(named, "block")
    assert torch.equal(named["block.q_proj.weight"], joint_weight[:4])
    assert "block.in_proj_bias" not in named
    layer.prepare_for_onnx_export_()
    layer.prepare_for_tpu_(anything=1)
    assert layer.onnx_trace
    assert layer.tpu


def test_attention_refuses_what_it_does_not_do() -> None:
    with pytest.raises(ValueError, match="divisible"):
        module.MultiheadAttention(5, 2)
    with pytest.raises(ValueError, match="same size"):
        module.MultiheadAttention(4, 2, kdim=3, self_attention=True)
    with pytest.raises(NotImplementedError, match=r"torch\.nn\.MultiheadAttention"):
        module.MultiheadAttention(4, 2, add_zero_attn=True)
    layer = module.MultiheadAttention(4, 2)
    x = torch.ones(4, 4)
    with pytest.raises(NotImplementedError, match="incremental_state"):
        layer(x, x, x, 2, 2, 2, incremental_state={})
    with pytest.raises(NotImplementedError, match="before_softmax"):
        layer(x, x, x, 2, 2, 2, before_softmax=True)
    with pytest.raises(ValueError, match="rows"):
        layer(x, x, x, 3, 2, 2)


def _fill(layer: torch.nn.Module, **values: torch.Tensor) -> torch.nn.Module:
    layer.cpu()
    for name, value in values.items():
        getattr(layer, name).data = value
    return layer.npu()


def _int8(*shape: int) -> torch.Tensor:
    return torch.randint(-128, 128, shape, dtype=torch.int8)


@pytest.mark.covers(
    "torch_npu.contrib.module.LinearQuant", "torch_npu.contrib.module.LinearQuant.forward"
)
def test_quantised_linear_to_int8_and_float() -> None:
    x, weight = _int8(3, 300), _int8(5, 300)
    scale, bias = torch.rand(5) * 1e-3, torch.randint(-9999, 9999, (5,), dtype=torch.int32)
    offset = torch.tensor([1.0, -2, 3, 0, 5])
    exact = (x.double() @ weight.double().T + bias) * scale
    layer = _fill(
        module.LinearQuant(300, 5, offset=True),
        weight=weight,
        scale=scale,
        bias=bias,
        offset=offset,
    )
    result = layer(x.npu()).cpu()
    assert result.dtype == torch.int8
    expected = (exact + offset).round().clamp(-128, 127)
    assert (result.double() - expected).abs().max() <= 1
    assert (result.double() == expected).float().mean() > 0.8
    packed = scale.view(torch.int32).long()
    half = _fill(
        module.LinearQuant(300, 5, output_dtype=torch.float16),
        weight=weight,
        scale=packed,
        bias=bias,
    )
    torch.testing.assert_close(half(x.npu()).cpu(), exact.half(), atol=1e-2, rtol=1e-3)
    rows = torch.rand(3)
    scaled = _fill(
        module.LinearQuant(300, 5, bias=False, pertoken_scale=True, output_dtype=torch.bfloat16),
        weight=weight,
        scale=scale,
        pertoken_scale=rows,
    )
    exact = (x.double() @ weight.double().T) * scale * rows[:, None]
    torch.testing.assert_close(scaled(x.npu()).cpu(), exact.bfloat16(), atol=1e-2, rtol=1e-2)


@pytest.mark.covers(
    "torch_npu.contrib.module.LinearA8W8Quant",
    "torch_npu.contrib.module.LinearA8W8Quant.forward",
)
def test_quantised_linear_checks_its_parameters() -> None:
    x, weight, scale = _int8(2, 8), _int8(3, 8), torch.rand(3)
    layer = _fill(
        module.LinearA8W8Quant(8, 3, bias=False, output_dtype=torch.float16),
        weight=weight,
        scale=scale,
    )
    expected = ((x.double() @ weight.double().T) * scale).half()
    torch.testing.assert_close(layer(x.npu()).cpu(), expected, atol=1e-1, rtol=1e-3)
    with pytest.raises(ValueError, match=r"must both be torch\.int8"):
        layer(x.npu().float())
    with pytest.raises(NotImplementedError, match="Unpack"):
        _fill(layer, weight=weight.int())(x.npu().int())
    with pytest.raises(ValueError, match=r"scale must be .*float16"):
        _fill(layer, weight=weight, scale=scale.half())(x.npu())
    with pytest.raises(ValueError, match="output_dtype"):
        module.LinearA8W8Quant(8, 3, output_dtype=torch.float64)


@pytest.mark.covers(
    "torch_npu.contrib.module.LinearWeightQuant",
    "torch_npu.contrib.module.LinearWeightQuant.forward",
)
@pytest.mark.parametrize("group", [0, 4])
def test_linear_with_quantised_weights(group: int) -> None:
    x, weight, bias = torch.randn(3, 8), _int8(5, 8), torch.randn(5)
    shape = (5, 2) if group else (5,)
    scale, offset = torch.rand(shape), torch.randn(shape)
    layer = _fill(
        module.LinearWeightQuant(8, 5, antiquant_offset=True, antiquant_group_size=group),
        weight=weight,
        bias=bias,
        antiquant_scale=scale,
        antiquant_offset=offset,
    )
    each = [
        values.repeat_interleave(4, 1) if group else values[:, None] for values in (scale, offset)
    ]
    expected = x @ ((weight + each[1]) * each[0]).T + bias
    torch.testing.assert_close(layer(x.npu()).cpu(), expected, atol=1e-3, rtol=1e-4)
    assert layer(x.npu().half()).dtype == torch.float16


def test_linear_with_quantised_weights_gives_int8() -> None:
    x, weight = torch.randn(3, 8), _int8(5, 8)
    layer = _fill(
        module.LinearWeightQuant(8, 5, bias=False, quant_scale=True, quant_offset=True),
        weight=weight,
        antiquant_scale=torch.full((5,), 0.1),
        quant_scale=torch.full((5,), 2.0),
        quant_offset=torch.full((5,), 3.0),
    )
    expected = ((x @ weight.float().T) * 0.2 + 3).round().clamp(-128, 127)
    assert (layer(x.npu()).cpu().float() - expected).abs().max() <= 1
    with pytest.raises(ValueError, match="int8"):
        _fill(layer, weight=weight.float())(x.npu())
    with pytest.raises(NotImplementedError, match="weight_dtype"):
        module.LinearWeightQuant(8, 5, weight_dtype=torch.int4)


@pytest.mark.covers(
    "torch_npu.contrib.module.QuantConv2d", "torch_npu.contrib.module.QuantConv2d.forward"
)
def test_quantised_convolution_is_exact() -> None:
    x, weight = _int8(2, 4, 6, 6), _int8(6, 2, 3, 3)
    scale, bias = torch.rand(6) * 1e-2, torch.randint(-99, 99, (6,), dtype=torch.int32)
    layer = _fill(
        module.QuantConv2d(4, 6, 3, torch.float32, stride=2, padding=1, groups=2, offset_x=7),
        weight=weight,
        scale=scale.view(torch.int32).long(),
        bias=bias,
    )
    padded = F.pad(x.double(), (1, 1, 1, 1), value=7)
    exact = F.conv2d(padded, weight.double(), bias.double(), 2, groups=2)
    expected = (exact * scale[:, None, None]).float()
    torch.testing.assert_close(layer(x.npu()).cpu(), expected)
    half = _fill(module.QuantConv2d(4, 6, 3, 5, bias=False), weight=_int8(6, 4, 3, 3), scale=scale)
    assert half(x.npu()).dtype == torch.float16
    for options in ({"offset": True}, {"round_mode": "floor"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            module.QuantConv2d(4, 6, 3, torch.float32, **options)
    with pytest.raises(ValueError, match="output_dtype"):
        module.QuantConv2d(4, 6, 3, torch.int8)
