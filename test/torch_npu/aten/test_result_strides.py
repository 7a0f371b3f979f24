"""Results lie in memory as the CPU's do, whatever order their inputs' dimensions have there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

CALLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "instance_norm": F.instance_norm,
    "group_norm": lambda x: F.group_norm(x, 1),
    "where": lambda x: torch.where(x > 0, x, 0.0),
    "logical_and": lambda x: torch.logical_and(x, x),
    "rsub": lambda x: 1 - x,
    "roll": lambda x: x.roll(1, 0),
    "pad": lambda x: F.pad(x, (1, 1)),
    "reflection_pad": lambda x: F.pad(x, (1, 1), mode="reflect"),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "softmax": lambda x: x.softmax(1),
    "fft": lambda x: torch.fft.fft(x, dim=1).real,
    "avg_pool": lambda x: F.adaptive_avg_pool1d(x, 2),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("order", [(2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_strides_and_gradients_are_the_cpus(name: str, order: tuple[int, ...]) -> None:
    host = torch.randn(4, 3, 5).permute(order)
    found = []
    for device in ("cpu", "npu"):
        x = host.detach().to(device).requires_grad_()
        assert x.stride() == host.stride()
        y = CALLS[name](x)
        gradient = torch.autograd.grad(y.sum(), x)[0] if y.requires_grad else x
        found.append((y.shape, y.stride(), gradient.stride()))
    assert found[0] == found[1]


@pytest.mark.parametrize("channels_last", [False, True])
def test_a_convolution_is_laid_out_by_input_and_weight(channels_last: bool) -> None:
    weight = torch.randn(4, 3, 2, 2)
    if channels_last:
        weight = weight.contiguous(memory_format=torch.channels_last)
    for order in ((0, 1, 2, 3), (3, 2, 1, 0)):
        image = torch.randn(3, 3, 3, 3).permute(order)
        strides = []
        for device in ("cpu", "npu"):
            inputs = [t.detach().to(device).requires_grad_() for t in (image, weight)]
            y = F.conv2d(*inputs)
            gradients = torch.autograd.grad(y.sum(), inputs)
            strides.append([y.stride(), *(gradient.stride() for gradient in gradients)])
        assert strides[0] == strides[1]


def test_view_works_after_layer_norm_of_a_permuted_sequence() -> None:
    x = torch.randn(2, 3, 4, device="npu").permute(1, 0, 2)
    assert torch.nn.LayerNorm(4, device="npu")(x).view(-1, 4).shape == (6, 4)
