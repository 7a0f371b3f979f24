"""Layers of vision models, beside their definitions written as loops."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from torch_npu.contrib import module
from torch_npu.contrib.module import channel_shuffle, deform_conv, focus


def _interleaved(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    return torch.stack([x1, x2], 2).flatten(1, 2)


@pytest.mark.covers(
    "torch_npu.contrib.module.ChannelShuffle",
    "torch_npu.contrib.module.ChannelShuffle.check_self",
    "torch_npu.contrib.module.ChannelShuffle.forward",
    "torch_npu.contrib.module.channel_shuffle.IndexSelectHalfImplementation",
    "torch_npu.contrib.module.channel_shuffle.IndexSelectHalfImplementation.forward",
    "torch_npu.contrib.module.channel_shuffle.IndexSelectFullImplementation",
    "torch_npu.contrib.module.channel_shuffle.IndexSelectFullImplementation.forward",
    "torch_npu.contrib.module.channel_shuffle.indexselect_full_implementation_forward",
    "torch_npu.contrib.module.channel_shuffle.indexselect_half_implementation_forward",
)
@pytest.mark.covers(
    "torch_npu.contrib.module.channel_shuffle.IndexSelectHalfImplementation.backward",
    "torch_npu.contrib.module.channel_shuffle.IndexSelectFullImplementation.backward",
    traced=False,
)
def test_channels_are_interleaved_with_their_gradients() -> None:
    x1, x2 = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 5)
    expected = _interleaved(x1, x2)
    for split in (False, True):
        shuffle = module.ChannelShuffle(6, split_shuffle=split)
        a, b = x1.npu().requires_grad_(), x2.npu().requires_grad_()
        result = shuffle(a, b)
        assert shuffle.checked
        result = torch.cat(result, 1) if split else result
        assert torch.equal(result.cpu(), expected)
        weight = torch.randn_like(expected)
        (result * weight.npu()).sum().backward()
        assert torch.equal(a.grad.cpu(), weight[:, ::2])
        assert torch.equal(b.grad.cpu(), weight[:, 1::2])
    for arguments in ((6, 3), (5,)):
        with pytest.raises(ValueError, match=r"groups|even"):
            module.ChannelShuffle(*arguments)
    assert channel_shuffle.ChannelShuffle is module.ChannelShuffle


@pytest.mark.covers(
    "torch_npu.contrib.module.focus.autopad",
    "torch_npu.contrib.module.focus.fast_slice",
    "torch_npu.contrib.module.focus.Conv",
    "torch_npu.contrib.module.focus.Conv.forward",
    "torch_npu.contrib.module.focus.Conv.fuseforward",
    "torch_npu.contrib.module.focus.Focus",
    "torch_npu.contrib.module.focus.Focus.forward",
)
def test_focus_convolves_every_second_pixel() -> None:
    assert focus.autopad(3) == 1
    assert focus.autopad([3, 5]) == [1, 2]
    assert focus.autopad(3, 0) == 0
    x = torch.arange(16.0).view(1, 1, 4, 4)
    slices = [part[0, 0, 0, 0].item() for part in focus.fast_slice(x.npu())]
    assert slices == [0, 4, 1, 5]
    layer = focus.Focus(1, 6, k=3)
    expected = layer(x)
    on_npu = focus.Focus(1, 6, k=3)
    on_npu.load_state_dict(focus.Focus(1, 6, k=3).state_dict() | layer.state_dict())
    layer.eval()
    on_npu.eval().npu()
    assert expected.shape == (1, 6, 2, 2)
    torch.testing.assert_close(on_npu(x.npu()).cpu(), layer(x))
    patches = torch.cat(focus.fast_slice(x.npu()), 1)
    fused = on_npu.conv.fuseforward(patches).cpu()
    plain = torch.nn.functional.leaky_relu(layer.conv.conv(patches.cpu()), 0.1)
    torch.testing.assert_close(fused, plain)


@pytest.mark.covers(
    "torch_npu.contrib.module.LabelSmoothingCrossEntropy",
    "torch_npu.contrib.module.LabelSmoothingCrossEntropy.forward",
)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_smoothed_cross_entropy_is_pytorchs(smoothing: float) -> None:
    logits = torch.randn(6, 5, requires_grad=True)
    labels = torch.tensor([0, 1, 2, 3, 4, 0])
    on_npu = logits.detach().npu().requires_grad_()
    # PyTorch shares the smoothing among all classes, this loss among the others.
    theirs = smoothing * 5 / 4
    expected = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=theirs)
    loss = module.LabelSmoothingCrossEntropy(5, smoothing)(on_npu, labels.npu().int())
    torch.testing.assert_close(loss.cpu(), expected)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(on_npu.grad.cpu(), logits.grad)
    with pytest.raises(ValueError, match="num_classes"):
        module.LabelSmoothingCrossEntropy(1)


def _bilinear(image: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """A point of (channels, height, width), zero outside."""
    total = torch.zeros(image.shape[0])
    for row, column in itertools.product(
        (math.floor(y), math.floor(y) + 1), (math.floor(x), math.floor(x) + 1)
    ):
        if 0 <= row < image.shape[1] and 0 <= column < image.shape[2]:
            total += image[:, row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def _deformed(x, offset, mask, weight, stride, padding, groups, deformable_groups):
    batch, channels = x.shape[:2]
    out_channels, in_group, rows, columns = weight.shape
    result = torch.zeros(batch, out_channels, *offset.shape[2:])
    points = rows * columns
    for b, i, j in itertools.product(range(batch), *map(range, offset.shape[2:])):
        samples = torch.zeros(channels, points)
        for part, point in itertools.product(range(deformable_groups), range(points)):
            dy, dx = offset[b, 2 * (part * points + point) :, i, j][:2]
            size = channels // deformable_groups
            chosen = slice(part * size, (part + 1) * size)
            y = i * stride - padding + point // columns + dy.item()
            at_x = j * stride - padding + point % columns + dx.item()
            value = _bilinear(x[b, chosen], y, at_x)
            samples[chosen, point] = value * mask[b, part * points + point, i, j]
        for o in range(out_channels):
            first = o // (out_channels // groups) * in_group
            result[b, o, i, j] = (samples[first : first + in_group] * weight[o].flatten(1)).sum()
    return result


@pytest.mark.covers(
    "torch_npu.contrib.module.deform_conv.ModulatedDeformConv2dFunction",
    "torch_npu.contrib.module.deform_conv.ModulatedDeformConv2dFunction.forward",
)
@pytest.mark.parametrize(("groups", "parts", "stride"), [(1, 1, 1), (2, 2, 2)])
def test_points_of_a_convolution_move(groups: int, parts: int, stride: int) -> None:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(2, 4, 5, 6, generator=generator)
    weight = torch.randn(4, 4 // groups, 3, 2, generator=generator)
    out = ((5 + 2 - 3) // stride + 1, (6 + 2 - 2) // stride + 1)
    offset = torch.randn(2, parts * 12, *out, generator=generator)
    mask = torch.rand(2, parts * 6, *out, generator=generator)
    bias = torch.randn(4, generator=generator)
    arguments = [tensor.npu() for tensor in (x, offset, mask, weight, bias)]
    run = deform_conv.ModulatedDeformConv2dFunction.apply
    result = run(*arguments, True, stride, 1, 1, groups, parts)
    expected = _deformed(x, offset, mask, weight, stride, 1, groups, parts)
    torch.testing.assert_close(result.cpu(), expected + bias[:, None, None], atol=1e-4, rtol=1e-4)
    with pytest.raises(ValueError, match="mask must have"):
        run(*arguments[:2], arguments[2][:, 1:], *arguments[3:], True, stride, 1, 1, groups, parts)


@pytest.mark.covers(
    "torch_npu.contrib.module.deform_conv.ModulatedDeformConv2dFunction.backward", traced=False
)
def test_moved_points_have_the_right_gradients() -> None:
    def inputs(*shape: int) -> torch.Tensor:
        return torch.rand(shape, dtype=torch.float64, device="npu").add_(0.2).requires_grad_()

    # Offsets away from whole pixels, where a bilinear sample has no derivative.
    offset = torch.full((1, 8, 2, 2), 0.3, dtype=torch.float64, device="npu").requires_grad_()
    tensors = (inputs(1, 2, 3, 3), offset, inputs(1, 4, 2, 2), inputs(3, 2, 2, 2), inputs(3))
    run = deform_conv.ModulatedDeformConv2dFunction.apply
    assert torch.autograd.gradcheck(lambda *arguments: run(*arguments, True), tensors)


@pytest.mark.covers(
    "torch_npu.contrib.module.ModulatedDeformConv",
    "torch_npu.contrib.module.ModulatedDeformConv.forward",
    "torch_npu.contrib.module.ModulatedDeformConv.init_param",
)
def test_deformable_convolution_begins_as_half_of_a_convolution() -> None:
    layer = module.ModulatedDeformConv(4, 6, 3, padding=1, deformable_groups=2).npu()
    x = torch.randn(2, 4, 5, 5, device="npu", requires_grad=True)
    plain = torch.nn.functional.conv2d(x, layer.weight, padding=1)
    torch.testing.assert_close(layer(x), plain / 2, atol=1e-5, rtol=1e-5)
    layer(x).sum().backward()
    assert layer.conv_offset.weight.grad.abs().sum() > 0
    before = layer.weight.clone()
    layer.init_param()
    assert not torch.equal(layer.weight, before)
    unpacked = module.ModulatedDeformConv(4, 6, 1, bias=False, pack=False).npu()
    zeros = torch.zeros(2, 2, 5, 5, device="npu")
    ones = torch.ones(2, 1, 5, 5, device="npu")
    torch.testing.assert_close(
        unpacked((x, zeros, ones)), torch.nn.functional.conv2d(x, unpacked.weight)
    )


@pytest.mark.covers(
    "torch_npu.contrib.module.ROIAlign", "torch_npu.contrib.module.ROIAlign.forward"
)
@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("ratio", [2, 0])
def test_regions_are_sampled_bilinearly(aligned: bool, ratio: int) -> None:
    features = torch.randn(2, 3, 8, 9)
    rois = torch.tensor([[0, 1.0, 2.0, 9.0, 12.0], [1, 3.0, 0.0, 15.5, 7.0], [1, 4, 4, 4.5, 4.5]])
    pooled = module.ROIAlign((2, 3), 0.5, ratio, aligned)(features.npu(), rois.npu()).cpu()
    for roi, found in zip(rois, pooled, strict=True):
        x1, y1, x2, y2 = (roi[1:] * 0.5 - (0.5 if aligned else 0)).tolist()
        height, width = y2 - y1, x2 - x1
        if not aligned:
            height, width = max(height, 1.0), max(width, 1.0)
        tall = ratio or math.ceil(height / 2)
        wide = ratio or math.ceil(width / 3)
        for row, column in itertools.product(range(2), range(3)):
            points = [
                _bilinear(
                    features[int(roi[0])],
                    min(max(y1 + height / 2 * (row + (i + 0.5) / tall), 0), 7),
                    min(max(x1 + width / 3 * (column + (j + 0.5) / wide), 0), 8),
                )
                for i, j in itertools.product(range(tall), range(wide))
            ]
            torch.testing.assert_close(found[:, row, column], torch.stack(points).mean(0))


def test_regions_pass_gradients_and_bad_ones_are_refused() -> None:
    features = torch.randn(1, 2, 4, 4, device="npu", requires_grad=True)
    layer = module.ROIAlign((2, 2), 1.0, 1)
    layer(features, torch.tensor([[0, 0.0, 0, 4, 4]])).sum().backward()
    assert features.grad.sum().item() == pytest.approx(8)
    assert layer(features, torch.empty(0, 5)).shape == (0, 2, 2, 2)
    with pytest.raises(ValueError, match=r"\(n, 5\)"):
        layer(features, torch.zeros(1, 4))


@pytest.mark.covers(
    "torch_npu.contrib.module.PSROIPool", "torch_npu.contrib.module.PSROIPool.forward"
)
def test_each_bin_has_its_own_channels() -> None:
    size, channels = 2, 3
    features = torch.randn(2, channels * size * size, 6, 7, requires_grad=True)
    rois = torch.tensor([[[0.0, 1], [0, 4], [2, 0], [9, 11], [7, 8]]]).expand(1, 5, 2)
    layer = module.PSROIPool(size, size, 0.5, size, channels)
    on_npu = features.detach().npu().requires_grad_()
    pooled = layer(on_npu, rois.npu())
    assert pooled.shape == (2, channels, size, size)
    expected = torch.zeros(pooled.shape)
    for n in range(2):
        image, x1, y1, x2, y2 = rois[0, :, n].tolist()
        left, top = round(x1) * 0.5, round(y1) * 0.5
        width, height = (round(x2) + 1) * 0.5 - left, (round(y2) + 1) * 0.5 - top
        for c, p, q in itertools.product(range(channels), range(size), range(size)):
            rows = range(
                max(math.floor(top + p * height / size), 0),
                min(math.ceil(top + (p + 1) * height / size), 6),
            )
            columns = range(
                max(math.floor(left + q * width / size), 0),
                min(math.ceil(left + (q + 1) * width / size), 7),
            )
            bin_ = features[int(image), (c * size + p) * size + q][rows.start : rows.stop]
            expected[n, c, p, q] = bin_[:, columns.start : columns.stop].mean()
    torch.testing.assert_close(pooled.cpu(), expected.detach())
    pooled.sum().backward()
    assert on_npu.grad.sum().item() == pytest.approx(2 * channels * 4, rel=1e-4)
    with pytest.raises(ValueError, match="must be equal"):
        module.PSROIPool(7, 6)
    with pytest.raises(ValueError, match="channels"):
        layer(on_npu[:, 1:], rois.npu())
