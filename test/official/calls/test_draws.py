"""Random numbers: they are the card's, so what is compared is their distribution."""

from __future__ import annotations

import math

import pytest
import torch

COUNT = 100_000


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.npu.manual_seed(1)


def expect(sample: torch.Tensor, mean: float, deviation: float) -> None:
    """Within five standard errors of the mean, and 2 % of the deviation."""
    sample = sample.float().cpu()
    assert abs(sample.mean().item() - mean) < 5 * deviation / math.sqrt(sample.numel())
    assert sample.std().item() == pytest.approx(deviation, rel=0.02)


def empty() -> torch.Tensor:
    return torch.empty(COUNT, device="npu")


def test_normal_numbers() -> None:
    ones = torch.ones(COUNT, device="npu")
    expect(torch.normal(2.0, 3.0, (COUNT,), device="npu"), 2, 3)
    expect(torch.normal(2.0, 3 * ones), 2, 3)
    expect(torch.normal(2 * ones, 3.0), 2, 3)
    expect(torch.normal(2 * ones, 3 * ones), 2, 3)
    expect(empty().normal_(2, 3), 2, 3)
    expect(torch.randn(COUNT, device="npu"), 0, 1)


def test_uniform_numbers() -> None:
    expect(empty().uniform_(2, 5), 3.5, 3 / math.sqrt(12))
    expect(torch.rand(COUNT, device="npu"), 0.5, 1 / math.sqrt(12))


def test_whole_numbers() -> None:
    whole = empty().random_(2, 12).cpu()
    assert set(whole.tolist()) == set(range(2, 12))
    expect(whole, 6.5, math.sqrt((10**2 - 1) / 12))
    far = torch.empty(COUNT, dtype=torch.int32, device="npu").random_().float()
    assert far.min().item() >= 0
    expect(far / 2**31, 0.5, 1 / math.sqrt(12))
    assert set(torch.randint(3, 6, (1000,), device="npu").tolist()) == {3, 4, 5}
    below = torch.empty(1000, dtype=torch.int64, device="npu").random_(4)
    assert set(below.tolist()) == {0, 1, 2, 3}


def test_truths_and_exponential_numbers() -> None:
    expect(empty().bernoulli_(0.3), 0.3, math.sqrt(0.21))
    expect(torch.bernoulli(torch.full((COUNT,), 0.3, device="npu")), 0.3, math.sqrt(0.21))
    expect(empty().bernoulli_(torch.full((COUNT,), 0.3, device="npu")), 0.3, math.sqrt(0.21))
    expect(empty().exponential_(2.0), 0.5, 0.5)
    expect(torch.ops.npu.npu_sim_exponential_(empty(), 2.0), 0.5, 0.5)


def test_permutations_and_weighted_choices() -> None:
    order = torch.randperm(1000, device="npu").cpu()
    assert not torch.equal(order, torch.arange(1000))
    assert torch.equal(order.sort().values, torch.arange(1000))
    weights = torch.tensor([0.1, 0.0, 0.6, 0.3], device="npu")
    chosen = torch.multinomial(weights, COUNT, replacement=True).cpu()
    share = torch.bincount(chosen, minlength=4) / COUNT
    torch.testing.assert_close(share, weights.cpu(), rtol=0, atol=0.01)
    for _ in range(20):
        without = torch.multinomial(weights, 3).tolist()
        assert sorted(without) == [0, 2, 3]


def test_dropout_keeps_its_share_and_scales_it() -> None:
    x = torch.ones(COUNT, device="npu", requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    kept = (y != 0).float().mean().item()
    assert abs(kept - 0.75) < 0.01
    assert torch.equal(y[y != 0].cpu(), torch.full((int(kept * COUNT + 0.5),), 1 / 0.75))
    y.sum().backward()
    assert torch.equal(x.grad.cpu(), y.detach().cpu())


def test_dropout_s_mask_in_bits_keeps_its_share() -> None:
    mask = torch.ops.npu.npu_dropout_gen_mask([COUNT], 0.25, dtype=torch.float32, device="npu")
    assert mask.dtype == torch.uint8
    assert mask.numel() * 8 >= COUNT
    bits = (mask.cpu().unsqueeze(1) >> torch.arange(8)) & 1
    expect(bits.flatten()[:COUNT], 0.75, math.sqrt(0.25 * 0.75))


def test_randomised_leaks_are_between_their_limits() -> None:
    x = torch.full((COUNT,), -2.0, device="npu")
    leak = torch.rrelu(x, 0.1, 0.3, training=True) / -2
    assert leak.min().item() >= 0.1
    assert leak.max().item() <= 0.3
    expect(leak, 0.2, 0.2 / math.sqrt(12))
    expect(torch.rrelu_(x.clone(), 0.1, 0.3, training=True) / -2, 0.2, 0.2 / math.sqrt(12))
