"""Embedding bags: every mode against the CPU, with gradients, and none of it on the host."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import embedding_bag

INDICES = torch.tensor([1, 4, 2, 2, 5, 0, 3])
OFFSETS = torch.tensor([0, 2, 2, 5])  # the second bag is empty


def gradients(device: str, **options: Any) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(6, 3, generator=generator).to(device).requires_grad_()
    inputs = [weight]
    if options.pop("weighted", False):
        weights = torch.rand(7, generator=generator).to(device).requires_grad_()
        options["per_sample_weights"] = weights
        inputs.append(weights)
    last = options.get("include_last_offset", False)
    offsets = torch.cat([OFFSETS, torch.tensor([7])]) if last else OFFSETS
    result = embedding_bag(INDICES.to(device), weight, offsets.to(device), **options)
    upstream = torch.randn(result.shape, generator=generator).to(device)
    return [result, *torch.autograd.grad(result, inputs, upstream)]


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "sum"},
        {"mode": "mean"},
        {"mode": "max"},
        {"mode": "sum", "weighted": True},
        {"mode": "sum", "weighted": True, "padding_idx": 2},
        {"mode": "mean", "padding_idx": 0},
        {"mode": "max", "include_last_offset": True},
        {"mode": "sum", "include_last_offset": True},
        {"mode": "mean", "include_last_offset": True},
        {"mode": "mean", "scale_grad_by_freq": True},
    ],
)
def test_results_and_gradients_are_the_cpus(options: dict[str, Any]) -> None:
    before = torch.npu.fallback_counts()
    actual = gradients("npu", **options)
    assert torch.npu.fallback_counts() == before
    for left, right in zip(actual, gradients("cpu", **options), strict=True):
        torch.testing.assert_close(left.cpu(), right)


def test_a_sparse_gradient_has_the_same_values() -> None:
    actual = gradients("npu", mode="sum", sparse=True)[1]
    expected = gradients("cpu", mode="sum", sparse=True)[1]
    assert actual.is_sparse
    torch.testing.assert_close(actual.to_dense().cpu(), expected.to_dense())


@pytest.mark.parametrize("mode", range(3))
@pytest.mark.parametrize("last", [False, True])
def test_fake_tensors_tell_the_statistics_sizes(mode: int, last: bool) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    arguments = (torch.ones(6, 3).npu(), INDICES.npu(), OFFSETS.npu(), False, mode, False, None)
    actual = torch._embedding_bag(*arguments, last)
    with FakeTensorMode(allow_non_fake_inputs=True):
        predicted = torch._embedding_bag(*arguments, last)
    assert [tensor.shape for tensor in actual] == [tensor.shape for tensor in predicted]
    assert [tensor.dtype for tensor in actual] == [tensor.dtype for tensor in predicted]


def test_indices_and_offsets_of_two_dtypes() -> None:
    weight = torch.randn(6, 3)
    expected = embedding_bag(INDICES.int(), weight, OFFSETS)
    actual = embedding_bag(INDICES.int().npu(), weight.npu(), OFFSETS.npu())
    torch.testing.assert_close(actual.cpu(), expected)


def test_no_indices_and_no_bags() -> None:
    weight = torch.randn(6, 3, device="npu")
    nothing = torch.empty(0, dtype=torch.int64, device="npu")
    assert (
        embedding_bag(nothing, weight, torch.zeros(2).long().npu()).cpu().tolist() == [[0] * 3] * 2
    )
    assert embedding_bag(nothing, weight, nothing).shape == (0, 3)
