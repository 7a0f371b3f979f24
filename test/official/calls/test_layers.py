"""Parts of networks that PyTorch's sample inputs do not reach, with their gradients."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional


def gradients(layer: Callable[..., Any]) -> Callable[..., list[torch.Tensor]]:
    """The layer's outputs and the gradients of its inputs of floating point."""

    def call(*inputs: torch.Tensor) -> list[torch.Tensor]:
        leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
        outputs = layer(*leaves)
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        used = [y for y in outputs if y.requires_grad]
        wanted = [x for x in leaves if x.requires_grad]
        weighted = sum((y.sin() * y).sum() for y in used)
        found = torch.autograd.grad(weighted, wanted, allow_unused=True)
        return [*(y.detach() for y in outputs), *(g for g in found if g is not None)]

    return call


def image(*sizes: int) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(0))


LAYERS: dict[str, tuple[Callable[..., Any], list[torch.Tensor]]] = {
    "max pooling 2d": (lambda x: functional.max_pool2d(x, 2), [image(2, 3, 6, 8)]),
    "max pooling 3d": (lambda x: functional.max_pool3d(x, 2), [image(1, 2, 4, 4, 6)]),
    "adaptive max pooling 2d": (
        lambda x: functional.adaptive_max_pool2d(x, (3, 2)),
        [image(2, 3, 6, 8)],
    ),
    "adaptive max pooling 3d": (
        lambda x: functional.adaptive_max_pool3d(x, 2),
        [image(1, 2, 4, 4, 6)],
    ),
    "embedding": (
        lambda w, i: functional.embedding(i, w, padding_idx=1),
        [image(6, 4), torch.tensor([[0, 1], [5, 0]])],
    ),
    "embedding bag": (
        lambda w, i: functional.embedding_bag(i, w, mode="sum"),
        [image(6, 4), torch.tensor([[0, 1], [5, 0]])],
    ),
    "affine grid": (
        lambda theta: functional.affine_grid(theta, [2, 1, 3, 4], align_corners=False),
        [image(2, 2, 3)],
    ),
    "connectionist temporal classification": (
        lambda x, t: functional.ctc_loss(
            x.log_softmax(2), t, torch.tensor([8, 8]), torch.tensor([3, 2]), reduction="sum"
        ),
        [image(8, 2, 5), torch.tensor([[1, 2, 2], [3, 4, 0]])],
    ),
    "convolution over time": (
        lambda x, w, b: torch.conv_tbc(x, w, b, 1),
        [image(7, 2, 3), image(3, 3, 4), image(4)],
    ),
    "depthwise convolution": (
        lambda x, w: functional.conv2d(x, w, groups=4),
        [image(2, 4, 6, 6), image(4, 1, 3, 3)],
    ),
    "transposed convolution": (
        lambda x, w, b: functional.conv_transpose2d(x, w, b, stride=2),
        [image(2, 4, 5, 5), image(4, 3, 3, 3), image(3)],
    ),
    "group norm": (
        lambda x, w, b: functional.group_norm(x, 2, w, b),
        [image(2, 4, 5), image(4), image(4) + 1],
    ),
    "batch norm": (
        lambda x, w, b: functional.batch_norm(
            x, torch.zeros_like(w), torch.ones_like(w), w, b, training=True
        ),
        [image(4, 3, 5), image(3), image(3) + 1],
    ),
    "layer norm": (
        lambda x, w, b: functional.layer_norm(x, (5,), w, b),
        [image(2, 4, 5), image(5), image(5) + 1],
    ),
    "log sigmoid": (functional.logsigmoid, [image(3, 4)]),
    "antialiased upsampling": (
        lambda x: [
            functional.interpolate(x, (7, 9), mode=mode, antialias=True)
            for mode in ("bilinear", "bicubic")
        ],
        [image(1, 2, 5, 6)],
    ),
    "determinants": (
        lambda x: [torch.inverse(x), torch.det(x)],  # the wheel's slogdet has no gradient
        [image(3, 3) / 4 + torch.eye(3)],
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer_and_its_gradients(same: Any, name: str) -> None:
    layer, inputs = LAYERS[name]
    same(gradients(layer), *inputs, rtol=1e-4, atol=1e-4)


def test_upsampling_in_every_mode(same: Any) -> None:
    def layer(line: torch.Tensor, plane: torch.Tensor, space: torch.Tensor) -> list[torch.Tensor]:
        outputs = []
        for x, modes in (
            (line, ["linear"]),
            (plane, ["bilinear", "bicubic"]),
            (space, ["trilinear"]),
        ):
            for mode in modes:
                for align in (False, True):
                    outputs.append(
                        functional.interpolate(x, scale_factor=2, mode=mode, align_corners=align)
                    )
            for mode in ("nearest", "nearest-exact"):
                outputs.append(functional.interpolate(x, scale_factor=2, mode=mode))
        return outputs

    inputs = [image(1, 2, 5), image(1, 2, 5, 4), image(1, 2, 3, 4, 2)]
    same(gradients(layer), *inputs, rtol=1e-4, atol=1e-4)


def test_padding_in_every_mode(same: Any) -> None:
    def layer(*inputs: torch.Tensor) -> list[torch.Tensor]:
        outputs = []
        for dimensions, x in enumerate(inputs, 1):
            pads = (1, 2) + (1, 1) * (dimensions - 1)
            outputs += [
                functional.pad(x, pads, mode=m) for m in ("reflect", "replicate", "circular")
            ]
            outputs.append(functional.pad(x, pads, value=2.5))
        return outputs

    same(gradients(layer), image(2, 3, 5), image(1, 2, 5, 4), image(1, 2, 3, 4, 3))


ACTIVATIONS = [
    *("celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu"),
    *("mish", "relu", "relu6", "selu", "silu", "softplus", "softshrink", "softsign", "tanhshrink"),
]
LOSSES = [
    *("l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "kl_div"),
    "binary_cross_entropy_with_logits",
]


def test_activations_and_their_gradients(same: Any) -> None:
    def layer(x: torch.Tensor) -> list[torch.Tensor]:
        outputs = [getattr(functional, name)(x) for name in ACTIVATIONS]
        outputs += [functional.threshold(x, 0.2, -1), functional.glu(x), x.sigmoid(), x.tanh()]
        outputs += [x.softmax(1), x.log_softmax(0)]
        return outputs

    same(gradients(layer), image(3, 4), rtol=1e-4, atol=1e-5)


def test_activations_in_place(same: Any) -> None:
    def call(x: torch.Tensor) -> list[torch.Tensor]:
        names = (
            "celu",
            "elu",
            "hardsigmoid",
            "hardswish",
            "hardtanh",
            "leaky_relu",
            "mish",
            "silu",
        )
        outputs = [getattr(functional, name)(x.clone(), inplace=True) for name in names]
        return [*outputs, functional.threshold(x.clone(), 0.2, -1, inplace=True)]

    same(call, image(3, 4))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_and_their_gradients(same: Any, reduction: str) -> None:
    def layer(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        target = y.detach().sigmoid()
        outputs = [getattr(functional, name)(x, target, reduction=reduction) for name in LOSSES]
        outputs.append(functional.binary_cross_entropy(x.sigmoid(), target, reduction=reduction))
        return [*outputs, functional.kl_div(x, y, reduction=reduction, log_target=True)]

    same(gradients(layer), image(3, 4), image(4, 3).t().contiguous(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_classes_and_their_gradients(same: Any, reduction: str) -> None:
    classes = torch.tensor([1, 0, 2])

    def layer(x: torch.Tensor, plane: torch.Tensor, classes: torch.Tensor) -> list[torch.Tensor]:
        return [
            functional.cross_entropy(x, classes, reduction=reduction),
            functional.nll_loss(x, classes, reduction=reduction, ignore_index=2),
            functional.nll_loss(plane, classes.view(1, 1, 3), reduction=reduction),
            functional.multi_margin_loss(x, classes, reduction=reduction),
        ]

    same(gradients(layer), image(3, 4), image(1, 4, 1, 3), classes, rtol=1e-4, atol=1e-5)


def test_cells(same: Any) -> None:
    torch.manual_seed(0)
    cells = [nn.GRUCell(4, 5), nn.RNNCell(4, 5)]

    def call(x: torch.Tensor, h: torch.Tensor) -> list[Any]:
        outputs = []
        for cell in cells:
            cell = cell.to(x.device)
            outputs += gradients(lambda x, cell=cell: cell(x, h))(x)
        return outputs

    same(call, image(3, 4), image(3, 5), rtol=1e-4, atol=1e-5)


def test_statistics_of_several_devices(same: Any) -> None:
    """What SyncBatchNorm is made of. The CPU lacks it: the formulas are the reference."""
    x = image(4, 3, 5).npu()
    weight, bias = image(3).npu(), (image(3) + 1).npu()
    mean, deviation = torch.batch_norm_stats(x, 1e-5)
    host = x.cpu()
    want_mean = host.mean((0, 2))
    want_inverse = (host.var((0, 2), unbiased=False) + 1e-5).rsqrt()
    torch.testing.assert_close(mean.cpu(), want_mean)
    torch.testing.assert_close(deviation.cpu(), want_inverse)
    y = torch.batch_norm_elemt(x, weight, bias, mean, deviation, 1e-5)
    normal = (host - want_mean[:, None]) * want_inverse[:, None]
    want = normal * weight.cpu()[:, None] + bias.cpu()[:, None]
    torch.testing.assert_close(y.cpu(), want, rtol=1e-4, atol=1e-5)
    gradient = image(4, 3, 5).flip(0).npu()
    sums = torch.batch_norm_backward_reduce(gradient, x, mean, deviation, weight, True, True, True)
    centred = (host - want_mean[:, None]) * gradient.cpu()
    torch.testing.assert_close(sums[0].cpu(), gradient.cpu().sum((0, 2)), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(sums[1].cpu(), centred.sum((0, 2)), rtol=1e-4, atol=1e-4)
    scaled = centred.sum((0, 2)) * want_inverse
    torch.testing.assert_close(sums[2].cpu(), scaled, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(sums[3].cpu(), gradient.cpu().sum((0, 2)), rtol=1e-4, atol=1e-4)


@pytest.fixture
def parts() -> list[torch.Tensor]:
    """What two devices have of a batch."""
    whole = image(6, 3, 5)
    return [whole[:4], whole[4:]]


def running() -> list[torch.Tensor]:
    return [image(3), image(3).abs()]


def expected_of(parts: list[torch.Tensor]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Mean and inverse deviation of the whole batch, and the running statistics after it."""
    whole = torch.cat(parts)
    updated = running()
    functional.batch_norm(whole, *updated, training=True, momentum=0.1)
    variance = whole.var((0, 2), unbiased=False)
    return [whole.mean((0, 2)), (variance + 1e-5).rsqrt()], updated


def test_statistics_gathered_from_several_devices(parts: list[torch.Tensor]) -> None:
    statistics = [torch.batch_norm_stats(part.npu(), 1e-5) for part in parts]
    means, inverses = (torch.stack(each) for each in zip(*statistics, strict=True))
    updated = [statistic.npu() for statistic in running()]
    counts = torch.tensor([20.0, 10.0], device="npu")
    gathered = torch.batch_norm_gather_stats_with_counts(
        parts[0].npu(), means, inverses, *updated, 0.1, 1e-5, counts
    )
    wanted, wanted_running = expected_of(parts)
    for got, want in zip([*gathered, *updated], [*wanted, *wanted_running], strict=True):
        torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5)


def test_sums_gathered_from_several_devices(parts: list[torch.Tensor]) -> None:
    sums = [torch.ops.npu.batch_norm_reduce(part.npu(), 1e-5) for part in parts]
    for part, (plain, squares) in zip(parts, sums, strict=True):
        torch.testing.assert_close(plain.cpu(), part.sum((0, 2)), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(squares.cpu(), part.square().sum((0, 2)), rtol=1e-4, atol=1e-5)
    plain, squares = (torch.stack(each) for each in zip(*sums, strict=True))
    updated = [statistic.npu() for statistic in running()]
    counts = torch.tensor([20, 10], dtype=torch.int32, device="npu")
    gathered = torch.ops.npu.batch_norm_gather_stats_update(
        parts[0].npu(), plain, squares, *updated, 0.1, 1e-5, counts
    )
    wanted, wanted_running = expected_of(parts)
    for got, want in zip([*gathered, *updated], [*wanted, *wanted_running], strict=True):
        torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5)


def test_gradient_of_a_normalised_element() -> None:
    x, weight, gradient = image(4, 3, 5), image(3) + 1, image(4, 3, 5).flip(0)
    leaf = x.clone().requires_grad_()
    functional.batch_norm(leaf, None, None, weight, training=True).backward(gradient)
    mean = x.mean((0, 2))
    inverse = (x.var((0, 2), unbiased=False) + 1e-5).rsqrt()
    centred = ((x - mean[:, None]) * gradient).sum((0, 2))
    got = torch.batch_norm_backward_elemt(
        *(t.npu() for t in (gradient, x, mean, inverse, weight, gradient.sum((0, 2)), centred)),
        torch.tensor([20], dtype=torch.int32, device="npu"),
    )
    torch.testing.assert_close(got.cpu(), leaf.grad, rtol=1e-4, atol=1e-5)


def test_a_filter_for_each_channel() -> None:
    """The CPU lacks this function: a convolution in groups is the reference."""
    x, weight, bias = image(2, 4, 7, 6), image(4, 1, 3, 3), image(4)
    got = torch.ops.aten._conv_depthwise2d(
        x.npu(), weight.npu(), [3, 3], bias.npu(), [2, 1], [1, 0], [1, 2]
    )
    want = functional.conv2d(x, weight, bias, (2, 1), (1, 0), (1, 2), groups=4)
    torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5)


def test_parts_of_layers(same: Any) -> None:
    def call(x: torch.Tensor, bias: torch.Tensor) -> list[Any]:
        chosen = torch.tensor([1, 0, 1], device=x.device)
        return [
            torch.embedding_renorm_(x[0, :, :4].clone(), chosen, 0.5, 2.0),
            torch._transform_bias_rescale_qkv(x, bias, 2),
        ]

    same(call, image(3, 2, 12), image(12))


def test_layer_norm_in_the_compatible_form() -> None:
    """The wheel takes another function where TORCH_NPU_USE_COMPATIBLE_IMPL is set at its start."""
    program = """
import torch, torch_npu
x = torch.linspace(-1, 2, 24).view(2, 3, 4)
weight, bias = torch.linspace(1, 2, 4), torch.linspace(-1, 1, 4)
got = torch.nn.functional.layer_norm(x.npu(), [4], weight.npu(), bias.npu())
want = torch.nn.functional.layer_norm(x, [4], weight, bias)
torch.testing.assert_close(got.cpu(), want)
"""
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "TORCH_NPU_USE_COMPATIBLE_IMPL": "1"},
        check=True,
    )


def test_quantisation(same: Any) -> None:
    x = image(3, 4)

    def call(x: torch.Tensor) -> list[torch.Tensor]:
        scales = torch.tensor([0.1, 0.2, 0.05], device=x.device)
        zeros = torch.zeros(3, dtype=torch.int32, device=x.device)
        return [
            torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127),
            torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, -128, 127),
        ]

    same(call, x)


def test_chunks_of_several_tensors_side_by_side(same: Any) -> None:
    def call(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch._chunk_cat([x, y], 0, 2)

    same(call, image(4, 3), image(3, 2))


def test_parts_copied_into_given_tensors(same: Any) -> None:
    def call(x: torch.Tensor) -> list[torch.Tensor]:
        out = [torch.empty(size, 3, device=x.device) for size in (1, 3)]
        torch.split_with_sizes_copy(x, [1, 3], 0, out=out)
        return out

    same(call, image(4, 3))


def test_wide_rows_copied_into_many_given_tensors(same: Any) -> None:
    def call(x: torch.Tensor) -> list[torch.Tensor]:
        out = [torch.empty(2, 2000, device=x.device) for _ in range(33)]
        torch.split_with_sizes_copy(x, [2000] * 33, 1, out=out)
        return out

    same(call, image(2, 66000))
