"""Quantising, and products of quantised matrices, against integer arithmetic in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_npu


def unpack(packed: torch.Tensor) -> torch.Tensor:
    nibbles = (packed.long().unsqueeze(-1) >> torch.arange(0, 32, 4)) & 15
    return (nibbles - 16 * (nibbles >= 8)).flatten(-2)


def random_int8(*shape: int) -> torch.Tensor:
    return torch.randint(-128, 128, shape, dtype=torch.int8)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.covers("torch_npu.npu_dynamic_quant")
def test_dynamic_quant_scales_each_row(dtype: torch.dtype, smooth: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 16).to(dtype)
    factor = torch.rand(16).to(dtype) if smooth else None
    y, scale = torch_npu.npu_dynamic_quant(x.npu(), smooth_scales=factor.npu() if smooth else None)
    wide = x.float() * factor.float() if smooth else x.float()
    want = wide.abs().amax(-1) / 127
    assert (y.dtype, scale.dtype) == (torch.int8, torch.float32)
    torch.testing.assert_close(scale.cpu(), want)
    assert torch.equal(y.cpu(), (wide / want.unsqueeze(-1)).round().to(torch.int8))


@pytest.mark.parametrize(("mode", "dims"), [("pertensor", (0, 1, 2)), ("perchannel", (1,))])
def test_dynamic_quant_scales_the_whole_or_each_channel(mode: str, dims: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 4, 16)
    y, scale = torch_npu.npu_dynamic_quant(x.npu(), quant_mode=mode)
    want = x.abs().amax(dims, keepdim=True) / 127
    assert scale.shape == ((1,) if mode == "pertensor" else (2, 16))
    torch.testing.assert_close(scale.cpu(), want.view(scale.shape))
    assert torch.equal(y.cpu(), (x / want).round().to(torch.int8))


def test_dynamic_quant_of_zeros_gives_zeros() -> None:
    y, scale = torch_npu.npu_dynamic_quant(torch.zeros(2, 4, device="npu"))
    assert y.cpu().eq(0).all()
    assert scale.cpu().eq(0).all()


def test_dynamic_quant_packs_int4() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 16)
    y, _ = torch_npu.npu_dynamic_quant(x.npu(), dst_type=torch.quint4x2)
    assert (y.dtype, y.shape) == (torch.int32, (3, 2))
    want = (x / (x.abs().amax(-1, keepdim=True) / 7)).round()
    assert torch.equal(unpack(y.cpu()), want.long())


def test_dynamic_quant_smooths_each_group_by_its_own() -> None:
    torch.manual_seed(0)
    x, factors = torch.randn(5, 8), torch.rand(2, 8)
    _, scale = torch_npu.npu_dynamic_quant(
        x.npu(),
        smooth_scales=factors.npu(),
        group_index=torch.tensor([2, 5], dtype=torch.int32).npu(),
    )
    wide = x * factors[[0, 0, 1, 1, 1]]
    torch.testing.assert_close(scale.cpu(), wide.abs().amax(-1) / 127)


@pytest.mark.covers("torch_npu.npu_dynamic_quant_asymmetric")
def test_asymmetric_dynamic_quant_uses_the_whole_range() -> None:
    torch.manual_seed(0)
    x = torch.rand(3, 16) + 1
    y, scale, offset = torch_npu.npu_dynamic_quant_asymmetric(x.npu())
    assert y.cpu().amin() == -128
    assert y.cpu().amax() == 127
    back = (y.cpu().float() - offset.cpu().unsqueeze(-1)) * scale.cpu().unsqueeze(-1)
    assert (back - x).abs().max() <= scale.cpu().max()


@pytest.mark.parametrize("dtype", [torch.qint8, torch.quint8, torch.qint32])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.covers("torch_npu.npu_quantize")
def test_quantize_divides_along_an_axis(dtype: torch.dtype, axis: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 4, 5) * 3
    scale = torch.rand(x.shape[axis]) * 0.1 + 0.02
    zero = torch.randint(0, 10, scale.shape, dtype=torch.int32)
    out = torch_npu.npu_quantize(x.npu(), scale.npu(), zero.npu(), dtype, axis)
    info = torch.iinfo({torch.qint8: torch.int8, torch.quint8: torch.uint8}.get(dtype, torch.int32))
    shape = [1, 1, 1]
    shape[axis] = -1
    want = (x / scale.view(shape)).round() + zero.view(shape)
    assert torch.equal(out.cpu().long(), want.clamp(info.min, info.max).long())


def test_quantize_multiplies_without_div_mode() -> None:
    x = torch.randn(2, 16) * 3
    scale = torch.rand(16) * 10
    out = torch_npu.npu_quantize(x.npu(), scale.npu(), None, torch.qint8, -1, False)
    assert torch.equal(out.cpu(), (x * scale).round().clamp(-128, 127).to(torch.int8))
    packed = torch_npu.npu_quantize(x.npu(), scale.npu(), None, torch.quint4x2, -1, False)
    assert torch.equal(unpack(packed.cpu()), (x * scale).round().clamp(-8, 7).long())


def test_int4_weights_are_packed_in_order() -> None:
    weight = torch.randint(-8, 8, (4, 16), dtype=torch.int32)
    packed = torch_npu.npu_convert_weight_to_int4pack(weight.npu())
    assert packed.shape == (4, 2)
    assert torch.equal(unpack(packed.cpu()), weight.long())


@pytest.mark.parametrize("output", [None, torch.float16, torch.bfloat16, torch.int32])
def test_quant_matmul_is_exact_before_scaling(output: torch.dtype | None) -> None:
    torch.manual_seed(0)
    x1, x2 = random_int8(3, 2000), random_int8(2000, 5)
    scale = torch.rand(5) * 1e-4
    bias = torch.randint(-1000, 1000, (5,), dtype=torch.int32)
    out = torch_npu.npu_quant_matmul(
        x1.npu(), x2.npu(), scale.npu(), bias=bias.npu(), output_dtype=output
    )
    whole = x1.long() @ x2.long() + bias
    if output == torch.int32:
        assert torch.equal(out.cpu(), whole.int())
        return
    want = whole.double() * scale.double()
    if output is None:
        assert torch.equal(out.cpu(), want.round().clamp(-128, 127).to(torch.int8))
    else:
        torch.testing.assert_close(out.cpu(), want.to(output))


def test_quant_matmul_scales_tokens_and_adds_a_floating_bias() -> None:
    torch.manual_seed(0)
    x1, x2 = random_int8(2, 3, 32), random_int8(32, 5)
    scale, tokens, bias = torch.rand(5), torch.rand(3), torch.randn(5)
    out = torch_npu.npu_quant_matmul(
        x1.npu(),
        x2.npu(),
        scale.npu(),
        pertoken_scale=tokens.npu(),
        bias=bias.npu(),
        output_dtype=torch.bfloat16,
    )
    want = (x1.double() @ x2.double()) * scale * tokens.unsqueeze(-1) + bias
    torch.testing.assert_close(out.cpu(), want.to(torch.bfloat16))


def test_quant_matmul_of_int4() -> None:
    torch.manual_seed(0)
    x1, x2 = torch.randint(-8, 8, (2, 3, 16), dtype=torch.int32).unbind(0)[0], None
    x2 = torch.randint(-8, 8, (16, 8), dtype=torch.int32)
    pack = torch_npu.npu_convert_weight_to_int4pack
    straight = torch_npu.npu_quant_matmul(
        pack(x1.npu()), pack(x2.npu()), torch.ones(8, device="npu"), output_dtype=torch.float16
    )
    turned = torch_npu.npu_quant_matmul(
        pack(x1.npu()),
        pack(x2.t().contiguous().npu()).t(),
        torch.ones(8, device="npu"),
        output_dtype=torch.float16,
    )
    want = (x1.long() @ x2.long()).half()
    assert torch.equal(straight.cpu(), want)
    assert torch.equal(turned.cpu(), want)


def test_quant_matmul_with_a_scale_for_each_block() -> None:
    torch.manual_seed(0)
    x1, x2, bias = random_int8(3, 512), random_int8(256, 512), torch.randn(256)
    rows, blocks = torch.rand(3, 4) * 1e-3, torch.rand(2, 4)
    out = torch_npu.npu_quant_matmul(
        x1.npu(),
        x2.npu().t(),
        blocks.npu().t(),
        pertoken_scale=rows.npu(),
        bias=bias.npu(),
        output_dtype=torch.bfloat16,
        group_sizes=[1, 128, 128],
    )
    plain1 = x1.double() * rows.double().repeat_interleave(128, 1)
    plain2 = x2.double() * blocks.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    want = plain1 @ plain2.t() + bias
    torch.testing.assert_close(out.cpu(), want.to(torch.bfloat16))


def assist_of(weight: torch.Tensor) -> torch.Tensor:
    """What the caller adds for the lower halves of an int8 number, which count from -8."""
    return (8 * weight.sum(-2)).float()


@pytest.mark.parametrize("groups", [1, 2])
def test_quant_matmul_of_int8_with_int4(groups: int) -> None:
    torch.manual_seed(0)
    x1, x2 = random_int8(3, 512), torch.randint(-8, 8, (512, 16), dtype=torch.int32)
    scale, tokens = torch.rand(groups, 16).half().float() * 0.1, torch.rand(3, 1)
    exact = torch_npu.npu_trans_quant_param(scale.flatten().npu()).view(groups, 16)
    kept = (scale.view(torch.int32) & -8192).view(torch.float32)  # what int64 holds of it
    weight = x2.double() * kept.double().repeat_interleave(512 // groups, 0)
    out = torch_npu.npu_quant_matmul(
        x1.npu(),
        torch_npu.npu_convert_weight_to_int4pack(x2.npu()),
        exact if groups > 1 else exact.flatten(),
        offset=assist_of(weight).npu(),
        pertoken_scale=tokens.npu() if groups > 1 else tokens.flatten().npu(),
        output_dtype=torch.bfloat16,
        group_sizes=[0, 0, 256] if groups > 1 else None,
    )
    want = (x1.double() @ weight) * tokens
    torch.testing.assert_close(out.cpu(), want.to(torch.bfloat16), atol=0.1, rtol=2e-2)


def test_quant_matmul_of_int4_in_groups_that_are_shifted() -> None:
    torch.manual_seed(0)
    x1 = torch.randint(-8, 8, (3, 32), dtype=torch.int32)
    x2 = torch.randint(-8, 8, (16, 32), dtype=torch.int32)
    scale, shift = torch.rand(2, 16), torch.randint(-3, 4, (2, 16)).half()
    tokens = torch.rand(3, 1)
    pack = torch_npu.npu_convert_weight_to_int4pack
    out = torch_npu.npu_quant_matmul(
        pack(x1.npu()),
        pack(x2.npu()).t(),
        scale.t().contiguous().npu().t(),
        offset=shift.npu(),
        pertoken_scale=tokens.npu(),
        output_dtype=torch.bfloat16,
        group_sizes=[0, 0, 16],
    )
    spread = [t.double().repeat_interleave(16, 0) for t in (scale, shift)]
    want = tokens * (x1.double() @ ((x2.t().double() - spread[1]) * spread[0]))
    torch.testing.assert_close(out.cpu(), want.to(torch.bfloat16))


def test_quant_matmul_refuses_sizes_of_groups_that_do_not_fit() -> None:
    x1, x2 = random_int8(3, 8).npu(), random_int8(8, 4).npu()
    rows, blocks = torch.rand(3, 2).npu(), torch.rand(2, 1).npu()
    with pytest.raises(RuntimeError, match="expected three group_sizes"):
        torch_npu.npu_quant_matmul(
            x1, x2, blocks, pertoken_scale=rows, output_dtype=torch.bfloat16, group_sizes=[4]
        )
    with pytest.raises(RuntimeError, match="scales for groups of 8 of 8"):
        torch_npu.npu_quant_matmul(
            x1, x2, blocks, pertoken_scale=rows, output_dtype=torch.bfloat16, group_sizes=[1, 4, 8]
        )


def test_scale_in_int64_is_the_bits_of_a_float() -> None:
    scale = torch.tensor([0.5, 2.0, -1.25])
    packed = torch_npu.npu_trans_quant_param(scale.npu())
    assert packed.dtype == torch.int64
    x1, x2 = random_int8(2, 8), random_int8(8, 3)
    out = torch_npu.npu_quant_matmul(x1.npu(), x2.npu(), packed, output_dtype=torch.float16)
    torch.testing.assert_close(out.cpu(), ((x1.double() @ x2.double()) * scale).half())


@pytest.mark.parametrize("round_mode", [0, 1])
@pytest.mark.parametrize("shifted", [False, True])
def test_scale_as_the_product_unit_reads_it(round_mode: int, shifted: bool) -> None:
    """The upper 19 bits of the float, bit 46, and nine bits of the offset from bit 37 on."""
    scale = torch.tensor([1.0, 1.00098, 0.3, 3.1415927])
    offset = torch.tensor([3.4, -300.0, 255.0, -1.0])
    packed = torch_npu.npu_trans_quant_param(
        scale.npu(), offset.npu() if shifted else None, round_mode
    )
    bits = scale.view(torch.int32).long()
    if round_mode == 1:
        bits = (bits.double() / 2**13).round().long() * 2**13  # halves to even
    want = (bits & 0xFFFFE000) | (1 << 46)
    if shifted:
        want |= (torch.tensor([3, -256, 255, -1]) & 0x1FF) << 37
    assert packed.cpu().tolist() == want.tolist()


@pytest.mark.parametrize("group", [0, 4])
@pytest.mark.covers("torch_npu.npu_weight_quant_batchmatmul")
def test_weight_quant_matmul(group: int) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(3, 16).half(), random_int8(16, 5)
    shape = (16 // group, 5) if group else (1, 5)
    scale, offset = torch.rand(shape).half(), torch.randn(shape).half()
    bias = torch.randn(5).half()
    out = torch_npu.npu_weight_quant_batchmatmul(
        x.npu(),
        weight.npu(),
        scale.npu(),
        offset.npu(),
        bias=bias.npu(),
        antiquant_group_size=group,
    )
    spread = [
        t.double().repeat_interleave(group, 0) if group else t.double() for t in (scale, offset)
    ]
    want = x.double() @ ((weight.double() + spread[1]) * spread[0]) + bias.double()
    torch.testing.assert_close(out.cpu(), want.half(), atol=0.5, rtol=1e-3)


def test_quant_matmul_into_int8_adds_an_offset() -> None:
    torch.manual_seed(0)
    x1, x2 = random_int8(2, 32), random_int8(32, 5)
    scale, offset = torch.rand(5) * 1e-3, torch.randint(-20, 20, (5,)).float()
    out = torch_npu.npu_quant_matmul(x1.npu(), x2.npu(), scale.npu(), offset=offset.npu())
    want = (x1.double() @ x2.double()) * scale.double() + offset.double()
    assert torch.equal(out.cpu(), want.round().clamp(-128, 127).to(torch.int8))


def test_weight_quant_matmul_of_int4_weights() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(3, 16).half(), torch.randint(-8, 8, (16, 8), dtype=torch.int32)
    scale = torch.rand(1, 8).half()
    packed = torch_npu.npu_convert_weight_to_int4pack(weight.npu())
    out = torch_npu.npu_weight_quant_batchmatmul(x.npu(), packed, scale.npu())
    want = x.double() @ (weight.double() * scale.double())
    torch.testing.assert_close(out.cpu(), want.half(), atol=0.05, rtol=1e-3)


def test_weight_quant_matmul_quantises_its_result() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(3, 16).half(), random_int8(16, 5)
    scale = torch.rand(1, 5).half() * 0.1
    steps, offset = torch.rand(5) * 5, torch.full((5,), 3.0)
    out = torch_npu.npu_weight_quant_batchmatmul(
        x.npu(),
        weight.npu(),
        scale.npu(),
        quant_scale=torch_npu.npu_trans_quant_param(steps.npu()),
        quant_offset=offset.npu(),
    )
    want = (x.double() @ (weight.double() * scale.double())) * steps.double() + 3
    assert out.dtype == torch.int8
    wrong = (out.cpu().double() - want.round().clamp(-128, 127)).abs()
    assert wrong.max() <= 1  # a value next to a half may be rounded either way
    assert wrong.mean() < 0.2


def test_inner_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RuntimeError, match="npu_quant_matmul: the inner sizes"):
        torch_npu.npu_quant_matmul(
            random_int8(2, 3).npu(), random_int8(4, 5).npu(), torch.ones(5, device="npu")
        )


# --- grouped products -------------------------------------------------------------------------


def grouped(sizes: list[int], list_type: int) -> torch.Tensor:
    if list_type == 0:
        return torch.tensor(sizes).cumsum(0)
    if list_type == 1:
        return torch.tensor(sizes)
    return torch.tensor([[i, size] for i, size in enumerate(sizes)])


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("list_type", [0, 1, 2])
@pytest.mark.covers("torch_npu.npu_grouped_matmul")
def test_rows_in_groups(stacked: bool, list_type: int) -> None:
    torch.manual_seed(0)
    sizes = [2, 0, 3]
    x, weight, bias = torch.randn(6, 4), torch.randn(3, 4, 5), torch.randn(3, 5)
    want = torch.zeros(6, 5)
    first = 0
    for i, size in enumerate(sizes):
        want[first : first + size] = x[first : first + size] @ weight[i] + bias[i]
        first += size
    out = torch_npu.npu_grouped_matmul(
        [x.npu()],
        [weight.npu()] if stacked else [w.npu() for w in weight],
        bias=[bias.npu()] if stacked else [b.npu() for b in bias],
        group_list=grouped(sizes, list_type).npu(),
        split_item=3,
        group_type=0,
        group_list_type=list_type,
    )
    assert len(out) == 1
    torch.testing.assert_close(out[0].cpu(), want)


def test_groups_given_as_numbers() -> None:
    x, weight = torch.randn(5, 4), torch.randn(2, 4, 3)
    (out,) = torch_npu.npu_grouped_matmul(
        [x.npu()], [w.npu() for w in weight], group_list=[2, 5], split_item=2
    )
    torch.testing.assert_close(out.cpu(), torch.cat([x[:2] @ weight[0], x[2:] @ weight[1]]))


def test_each_matrix_with_its_own() -> None:
    torch.manual_seed(0)
    x = [torch.randn(2, 4), torch.randn(3, 6)]
    weight = [torch.randn(4, 5), torch.randn(6, 7)]
    out = torch_npu.npu_grouped_matmul(
        [t.npu() for t in x], [t.npu() for t in weight], group_type=-1
    )
    for got, a, b in zip(out, x, weight, strict=True):
        torch.testing.assert_close(got.cpu(), a @ b)


def test_common_dimension_in_groups() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(6, 3), torch.randn(6, 4)
    (out,) = torch_npu.npu_grouped_matmul(
        [x.npu().t()],
        [weight.npu()],
        group_list=torch.tensor([2, 6]).npu(),
        split_item=3,
        group_type=2,
    )
    want = torch.stack([x[:2].t() @ weight[:2], x[2:].t() @ weight[2:]])
    torch.testing.assert_close(out.cpu(), want)


def test_grouped_int8_with_scales_of_channels_and_tokens() -> None:
    torch.manual_seed(0)
    x, weight = random_int8(5, 16), random_int8(2, 16, 3)
    scale, tokens = torch.rand(2, 3), torch.rand(5)
    (out,) = torch_npu.npu_grouped_matmul(
        [x.npu()],
        [weight.npu()],
        scale=[scale.npu()],
        per_token_scale=[tokens.npu()],
        group_list=torch.tensor([2, 3]).npu(),
        split_item=2,
        group_type=0,
        group_list_type=1,
        output_dtype=torch.bfloat16,
    )
    products = torch.cat([x[:2].double() @ weight[0].double(), x[2:].double() @ weight[1].double()])
    want = products * scale.double()[[0, 0, 1, 1, 1]] * tokens.double().unsqueeze(-1)
    torch.testing.assert_close(out.cpu(), want.to(torch.bfloat16))


@pytest.mark.parametrize("groups", [1, 2])
def test_grouped_int8_with_weights_in_int4(groups: int) -> None:
    torch.manual_seed(0)
    x, weight = random_int8(5, 32), torch.randint(-8, 8, (2, 32, 8), dtype=torch.int32)
    scale = torch.rand(2, groups, 8).half().float() * 0.1
    kept = (scale.view(torch.int32) & -8192).view(torch.float32)
    packed_scale = torch_npu.npu_trans_quant_param(scale.flatten().npu()).view(2, groups, 8)
    plain = weight.double() * kept.double().repeat_interleave(32 // groups, 1)
    tokens = torch.rand(5, 1)
    (out,) = torch_npu.npu_grouped_matmul(
        [x.npu()],
        [torch.stack([torch_npu.npu_convert_weight_to_int4pack(w.npu()) for w in weight])],
        bias=[assist_of(plain).npu()],
        scale=[packed_scale],
        per_token_scale=[tokens.npu()],
        group_list=torch.tensor([2, 3]).npu(),
        split_item=3,
        group_type=0,
        group_list_type=1,
        output_dtype=torch.bfloat16,
    )
    products = torch.cat([x[:2].double() @ plain[0], x[2:].double() @ plain[1]]) * tokens
    torch.testing.assert_close(out.cpu(), products.to(torch.bfloat16), atol=0.1, rtol=2e-2)


def test_grouped_weights_in_int8_with_activations_in_half_precision() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(5, 16).half(), random_int8(2, 16, 3)
    scale, offset = torch.rand(2, 3).half(), torch.randn(2, 3).half()
    (out,) = torch_npu.npu_grouped_matmul(
        [x.npu()],
        [weight.npu()],
        antiquant_scale=[scale.npu()],
        antiquant_offset=[offset.npu()],
        group_list=torch.tensor([2, 5]).npu(),
        split_item=2,
        group_type=0,
    )
    plain = (weight.double() + offset.double().unsqueeze(1)) * scale.double().unsqueeze(1)
    want = torch.cat([x[:2].double() @ plain[0], x[2:].double() @ plain[1]])
    torch.testing.assert_close(out.cpu(), want.half(), atol=0.3, rtol=1e-3)


@pytest.mark.parametrize(
    ("number", "function"),
    [
        (1, torch.relu),
        (2, lambda y: torch.nn.functional.gelu(y, approximate="tanh")),
        (4, lambda y: y * torch.sigmoid(1.702 * y)),
        (5, torch.nn.functional.silu),
    ],
)
def test_activation_after_the_product(number: int, function: Any) -> None:
    x, weight = torch.randn(3, 4), torch.randn(1, 4, 5)
    (out,) = torch_npu.npu_grouped_matmul(
        [x.npu()],
        [weight.npu()],
        group_list=torch.tensor([3]).npu(),
        split_item=2,
        group_type=0,
        act_type=number,
    )
    torch.testing.assert_close(out.cpu(), function(x @ weight[0]))


def test_unknown_activation_is_refused() -> None:
    x = torch.ones(2, 2, device="npu")
    with pytest.raises(NotImplementedError, match="npu_grouped_matmul: act_type 3"):
        torch_npu.npu_grouped_matmul([x], [x], act_type=3)
