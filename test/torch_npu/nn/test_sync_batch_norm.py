"""The parts of nn.SyncBatchNorm: shares of a batch, normalised with the whole's statistics."""

from __future__ import annotations

import pytest
import torch

EPS = 1e-5
MOMENTUM = 0.3


@pytest.fixture(params=[torch.float32, torch.float16])
def shares(request) -> list[torch.Tensor]:
    """Of different sizes, so that the counts matter."""
    torch.manual_seed(3)
    return [torch.randn(n, 3, 5).mul(n).to(request.param).npu() for n in (2, 6)]


def gathered(shares: list[torch.Tensor], *running: torch.Tensor) -> tuple[torch.Tensor, ...]:
    statistics = [torch.batch_norm_stats(share, EPS) for share in shares]
    counts = torch.tensor([float(share.numel() // 3) for share in shares]).npu()
    means, invstds = (torch.stack(parts) for parts in zip(*statistics, strict=True))
    mean, invstd = torch.batch_norm_gather_stats_with_counts(
        shares[0], means, invstds, *(running or (None, None)), MOMENTUM, EPS, counts
    )
    return mean, invstd, counts


def test_shares_are_normalised_like_the_whole_batch(shares) -> None:
    running = torch.zeros(3).npu(), torch.ones(3).npu()
    mean, invstd, _ = gathered(shares, *running)
    weight, bias = torch.rand(3).npu(), torch.rand(3).npu()
    parts = [torch.batch_norm_elemt(x, weight, bias, mean, invstd, EPS) for x in shares]
    whole = torch.cat(shares).float().cpu()
    expected_running = torch.zeros(3), torch.ones(3)
    expected = torch.nn.functional.batch_norm(
        whole, *expected_running, weight.cpu(), bias.cpu(), True, MOMENTUM, EPS
    )
    assert parts[0].dtype == shares[0].dtype
    assert mean.dtype == torch.float32
    torch.testing.assert_close(torch.cat(parts).cpu().float(), expected, rtol=1e-3, atol=2e-3)
    for actual, wanted in zip(running, expected_running, strict=True):
        torch.testing.assert_close(actual.cpu(), wanted, rtol=1e-3, atol=1e-3)


def test_gradients_of_shares_are_those_of_the_whole_batch(shares) -> None:
    mean, invstd, counts = gathered(shares)
    weight = torch.rand(3).npu()
    gradients = [torch.randn_like(share) for share in shares]
    reduced = [
        torch.batch_norm_backward_reduce(dy, x, mean, invstd, weight, True, True, True)
        for dy, x in zip(gradients, shares, strict=True)
    ]
    sum_dy, sum_dy_xmu, grad_weight, grad_bias = (
        sum(parts) for parts in zip(*reduced, strict=True)
    )
    parts = [
        torch.batch_norm_backward_elemt(
            dy, x, mean, invstd, weight, sum_dy, sum_dy_xmu, counts.int()
        )
        for dy, x in zip(gradients, shares, strict=True)
    ]
    whole = torch.cat(shares).cpu().float().requires_grad_()
    leaves = weight.cpu().requires_grad_(), torch.zeros(3, requires_grad=True)
    y = torch.nn.functional.batch_norm(whole, None, None, *leaves, True, 0.0, EPS)
    y.backward(torch.cat(gradients).cpu().float())
    tolerance = {"rtol": 1e-3, "atol": 1e-3}
    torch.testing.assert_close(torch.cat(parts).cpu().float(), whole.grad, **tolerance)
    torch.testing.assert_close(grad_weight.cpu(), leaves[0].grad, **tolerance)
    torch.testing.assert_close(grad_bias.cpu(), leaves[1].grad, **tolerance)


def test_an_input_without_channels_is_refused() -> None:
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        torch.batch_norm_stats(torch.ones(3).npu(), EPS)
