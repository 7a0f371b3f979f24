"""Normalisations and gates that take or give quantised numbers, against plain PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_npu


def normalized(x: torch.Tensor, gamma: torch.Tensor, beta: Any = None) -> torch.Tensor:
    wide = x.float()
    rows = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6) * gamma.float()
    return rows if beta is None else rows + beta.float()


def whole(values: torch.Tensor) -> torch.Tensor:
    return values.round().clamp(-128, 127).to(torch.int8)


def nearly(actual: torch.Tensor, wanted: torch.Tensor) -> None:
    """Equal but for values next to a half, which may be rounded either way."""
    assert actual.shape == wanted.shape
    assert actual.dtype == wanted.dtype
    wrong = (actual.cpu().int() - wanted.int()).abs()
    assert wrong.max() <= 1
    assert wrong.float().mean() < 0.05


@pytest.mark.parametrize("divide", [False, True])
@pytest.mark.parametrize("full", [False, True])
def test_add_rms_norm_quant(divide: bool, full: bool) -> None:
    torch.manual_seed(0)
    x1, x2 = torch.randn(2, 4, 16).half()
    gamma, beta = torch.randn(2, 16).half()
    scales = torch.rand(2, 16) * (0.05 if divide else 50) + 0.01
    points = torch.randint(-9, 9, (2, 16)).int()
    options = {"div_mode": divide}
    if full:
        options |= {"beta": beta.npu(), "scales2": scales[1].npu(), "zero_points2": points[1].npu()}
    y1, y2, total = torch_npu.npu_add_rms_norm_quant(
        x1.npu(), x2.npu(), gamma.npu(), scales[0].npu(), points[0].npu(), **options
    )
    assert torch.equal(total.cpu(), x1 + x2)
    rows = normalized(x1 + x2, gamma, beta if full else None)
    wanted = [(rows / s if divide else rows * s) + p for s, p in zip(scales, points, strict=True)]
    nearly(y1, whole(wanted[0]))
    if full:
        nearly(y2, whole(wanted[1]))


def test_add_rms_norm_quant_without_zero_points() -> None:
    x, ones = torch.randn(3, 8).half(), torch.ones(8)
    y, *_ = torch_npu.npu_add_rms_norm_quant(
        x.npu(), x.npu(), ones.half().npu(), (ones / 20).npu(), None
    )
    nearly(y, whole(normalized(x + x, ones) * 20))


@pytest.mark.parametrize(
    ("smooth", "mask", "wanted"),
    [
        (0, None, (True, False)),
        (1, None, (True, False)),
        (2, None, (True, True)),
        (2, [False, True], (False, True)),
        (0, [True, True], (True, True)),
    ],
)
def test_add_rms_norm_dynamic_quant(smooth: int, mask: Any, wanted: tuple[bool, bool]) -> None:
    torch.manual_seed(0)
    x1, x2 = torch.randn(2, 3, 4, 16).half()
    gamma, beta = torch.randn(2, 16).half()
    factors = [torch.rand(16).half() + 0.5 if i < smooth else None for i in range(2)]
    out = torch_npu.npu_add_rms_norm_dynamic_quant(
        x1.npu(),
        x2.npu(),
        gamma.npu(),
        smooth_scale1=None if factors[0] is None else factors[0].npu(),
        smooth_scale2=None if factors[1] is None else factors[1].npu(),
        beta=beta.npu(),
        output_mask=mask,
    )
    assert torch.equal(out[2].cpu(), x1 + x2)
    rows = normalized(x1 + x2, gamma, beta)
    for y, scale, factor, given in zip(out[:2], out[3:], factors, wanted, strict=True):
        if not given:
            assert y.dim() == scale.dim() == 0
            continue
        own = rows if factor is None else rows * factor.float()
        want = own.abs().amax(-1) / 127
        torch.testing.assert_close(scale.cpu(), want)
        nearly(y, whole(own / want.unsqueeze(-1)))


def test_add_rms_norm_dynamic_quant_refuses_to_give_nothing() -> None:
    x, gamma = torch.ones(2, 8, device="npu"), torch.ones(8, device="npu")
    with pytest.raises(RuntimeError, match="an output_mask that wants an output"):
        torch_npu.npu_add_rms_norm_dynamic_quant(x, x, gamma, output_mask=[False, False])


@pytest.mark.parametrize("upright", [False, True])
def test_rms_norm_quant(upright: bool) -> None:
    torch.manual_seed(0)
    x, gamma, beta = torch.randn(5, 16).half(), *torch.randn(2, 16).half()
    if upright:
        gamma, beta = gamma.unsqueeze(0), beta.unsqueeze(0)
    scale, offset = torch.tensor([20.0]).half(), torch.tensor([3], dtype=torch.int8)
    y = torch_npu.npu_rms_norm_quant(
        x.npu(), gamma.npu(), beta.npu(), scale.npu(), offset.npu(), epsilon=1e-6
    )
    nearly(y, whole(normalized(x, gamma, beta) * 20 + 3))


def clamped(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a, b = a.clamp(max=1.5), b.clamp(-1.5, 1.5)
    return a * torch.sigmoid(0.7 * a) * (b + 1.2)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dim", [-1, 1])
@pytest.mark.parametrize("groups", [None, [1, 0, 2]])
def test_clipped_swiglu(compare: Any, interleaved: bool, dim: int, groups: Any) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 6, 8) if dim == 1 else torch.randn(4, 8)

    def reference(x: torch.Tensor, **_: Any) -> torch.Tensor:
        rows = x.flatten(1) if dim == 1 else x
        pair = (rows[:, ::2], rows[:, 1::2]) if interleaved else rows.chunk(2, 1)
        out = clamped(*pair)
        if groups is not None:
            out[sum(groups) :] = 0
        return out.view(4, 3, 8) if dim == 1 else out

    options = {"dim": dim, "alpha": 0.7, "limit": 1.5, "bias": 1.2, "interleaved": interleaved}
    index = None if groups is None else torch.tensor(groups)
    compare(torch_npu.npu_clipped_swiglu, reference, x, group_index=index, **options)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_dequant_swiglu_quant(mode: int, left: bool, grouped: bool) -> None:
    torch.manual_seed(0)
    rows, size, groups = 6, 16, [2, 0, 3]
    x = torch.randint(-50, 50, (rows, size), dtype=torch.int32)
    count = len(groups) if grouped else 1
    weight, smooth = torch.rand(count, size) * 0.1, torch.rand(count, size // 2) + 0.5
    token = torch.rand(rows, 1)
    which = torch.repeat_interleave(torch.arange(3), torch.tensor(groups)) if grouped else None
    used = len(which) if which is not None else rows
    pick = which if which is not None else torch.zeros(rows, dtype=torch.int64)
    wide = x[:used] * weight[pick] * token[:used]
    halves = (wide[:, ::2], wide[:, 1::2]) if mode == 1 else wide.chunk(2, 1)
    a, b = halves if left or mode == 1 else halves[::-1]
    out = torch.nn.functional.silu(a) * b if mode == 0 else clamped(a, b)
    out = out * smooth[pick]
    want = out.abs().amax(1) / 127
    y, scale = torch_npu.npu_dequant_swiglu_quant(
        x.npu(),
        weight_scale=weight.npu(),
        activation_scale=token.npu(),
        quant_scale=smooth.npu(),
        group_index=torch.tensor(groups).npu() if grouped else None,
        activate_left=left,
        quant_mode=1,
        swiglu_mode=mode,
        clamp_limit=1.5,
        glu_alpha=0.7,
        glu_bias=1.2,
    )
    torch.testing.assert_close(scale.cpu()[:used], want)
    nearly(y[:used], whole(out / want.unsqueeze(1)))
    assert not y[used:].any()


def test_dequant_swiglu_quant_of_plain_numbers() -> None:
    x = torch.randn(3, 8).bfloat16()
    y, scale = torch_npu.npu_dequant_swiglu_quant(x.npu(), activate_left=True, quant_mode=1)
    a, b = x.float().chunk(2, 1)
    out = torch.nn.functional.silu(a) * b
    torch.testing.assert_close(scale.cpu(), out.abs().amax(1) / 127)
    nearly(y, whole(out / scale.cpu().unsqueeze(1)))


def test_static_quantisation_after_swiglu_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="npu_dequant_swiglu_quant: quant_mode 0"):
        torch_npu.npu_dequant_swiglu_quant(torch.ones(2, 4, device="npu"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("approximate", [0, 1])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.covers("torch_npu.npu_geglu")
def test_geglu_and_its_gradient(
    compare: Any, dtype: torch.dtype, approximate: int, left: bool
) -> None:
    def reference(x: torch.Tensor, dim: int, *_: Any) -> Any:
        a, b = x.float().chunk(2, dim) if left else x.float().chunk(2, dim)[::-1]
        active = torch.nn.functional.gelu(a, approximate="tanh" if approximate else "none")
        return (active * b).to(x.dtype), active.detach().to(x.dtype)

    torch.manual_seed(0)
    x = torch.randn(3, 8).to(dtype).requires_grad_()
    tolerance = {"atol": 2e-2, "rtol": 2e-2} if dtype == torch.bfloat16 else None
    compare(torch_npu.npu_geglu, reference, x, 1, approximate, left, tolerance=tolerance)


def test_fake_tensors_have_the_outputs_sizes() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    def half(*shape: int) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.float16, device="npu")

    def kinds(outputs: Any) -> list[tuple[tuple[int, ...], torch.dtype]]:
        return [(tuple(output.shape), output.dtype) for output in outputs]

    with FakeTensorMode():
        x, gamma = half(2, 8), half(8)
        whole, added = ((2, 8), torch.int8), ((2, 8), torch.float16)
        scale, nothing = ((2,), torch.float32), ((), torch.float32)
        static = torch_npu.npu_add_rms_norm_quant(x, x, gamma, gamma, None)
        assert kinds(static) == [whole, whole, added]
        dynamic = torch_npu.npu_add_rms_norm_dynamic_quant(x, x, gamma)
        assert kinds(dynamic) == [whole, ((), torch.int8), added, scale, nothing]
        swiglu = torch_npu.npu_dequant_swiglu_quant(x, quant_mode=1)
        assert kinds(swiglu) == [((2, 4), torch.int8), scale]
        assert torch_npu.npu_clipped_swiglu(x).shape == (2, 4)
        assert kinds(torch_npu.npu_geglu(x)) == [((2, 4), torch.float16)] * 2


def test_strided_and_empty_input() -> None:
    x = torch.randn(8, 6, device="npu").t()
    for operator in (torch_npu.npu_clipped_swiglu, lambda x: torch_npu.npu_geglu(x)[0]):
        # ATen's vectorised sigmoid and its plain one, for what is strided, round differently.
        torch.testing.assert_close(operator(x).cpu(), operator(x.contiguous()).cpu())
        assert operator(torch.empty(0, 8, device="npu")).shape == (0, 4)
