"""What the random operators draw: repeatable, independent, and of the right distribution.

Every test fixes its seed, so the statistics are the same at every run; the bounds are wide enough
that one seed in ten thousand would miss them.
"""

from __future__ import annotations

import pytest
import torch
from scipy import stats
from torch.utils.checkpoint import checkpoint

LEAST_P_VALUE = 1e-4
COUNT = 50_000

DRAWS = {
    "uniform": lambda out, generator: out.uniform_(-1, 3, generator=generator),
    "normal": lambda out, generator: out.normal_(2, 0.5, generator=generator),
    "exponential": lambda out, generator: out.exponential_(0.5, generator=generator),
    "log_normal": lambda out, generator: out.log_normal_(0.1, 0.5, generator=generator),
    "cauchy": lambda out, generator: out.cauchy_(1, 2, generator=generator),
    "geometric": lambda out, generator: out.geometric_(0.2, generator=generator),
    "bernoulli": lambda out, generator: out.bernoulli_(0.3, generator=generator),
    "random": lambda out, generator: out.random_(0, 1000, generator=generator),
}

DISTRIBUTIONS = {
    "uniform": stats.uniform(-1, 4),
    "normal": stats.norm(2, 0.5),
    "exponential": stats.expon(scale=2),
    "log_normal": stats.lognorm(0.5, scale=torch.tensor(0.1).exp().item()),
    "cauchy": stats.cauchy(1, 2),
}


def generator(seed: int, offset: int = 0) -> torch.Generator:
    made = torch.Generator(device="npu").manual_seed(seed)
    made.set_offset(offset)
    return made


def draw(name: str, seed: int, offset: int = 0, count: int = COUNT, dtype=torch.float32):
    return DRAWS[name](torch.empty(count, device="npu", dtype=dtype), generator(seed, offset)).cpu()


def bits(seed: int, offset: int, count: int) -> torch.Tensor:
    return torch.empty(count, device="npu", dtype=torch.int64).random_(
        generator=generator(seed, offset)
    )


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_draws_follow_their_distribution(name, dtype):
    drawn = draw(name, seed=1234, dtype=dtype).double().numpy()
    assert stats.kstest(drawn, DISTRIBUTIONS[name].cdf).pvalue > LEAST_P_VALUE


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_draws_of_many_calls_follow_the_distribution_together(name):
    drawn = torch.cat([draw(name, 7, 4 * call, count=50) for call in range(400)])
    assert stats.kstest(drawn.numpy(), DISTRIBUTIONS[name].cdf).pvalue > LEAST_P_VALUE


def test_whole_numbers_are_drawn_equally_often():
    drawn = draw("random", seed=99).long() // 10
    assert stats.chisquare(torch.bincount(drawn, minlength=100).numpy()).pvalue > LEAST_P_VALUE


def test_trials_succeed_as_often_as_they_should():
    successes = int(draw("bernoulli", seed=5).sum())
    assert stats.binomtest(successes, COUNT, 0.3).pvalue > LEAST_P_VALUE
    waits = draw("geometric", seed=5)
    assert stats.binomtest(int((waits == 1).sum()), COUNT, 0.2).pvalue > LEAST_P_VALUE


def test_dropout_drops_as_often_as_it_should_and_keeps_the_mean():
    torch.npu.manual_seed(17)
    dropped = torch.nn.functional.dropout(torch.ones(COUNT, device="npu"), 0.3).cpu()
    assert stats.binomtest(int((dropped == 0).sum()), COUNT, 0.3).pvalue > LEAST_P_VALUE
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.7])


def test_categories_are_sampled_by_weight():
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0])
    drawn = torch.multinomial(weights.npu(), 20_000, replacement=True, generator=generator(3)).cpu()
    counts = torch.bincount(drawn, minlength=4).numpy()
    assert stats.chisquare(counts, (weights / 10 * 20_000).numpy()).pvalue > LEAST_P_VALUE


def test_permutations_are_drawn_equally_often():
    first = [
        int(torch.randperm(10, device="npu", generator=generator(3, 4 * call))[0])
        for call in range(2000)
    ]
    assert stats.chisquare(torch.bincount(torch.tensor(first)).numpy()).pvalue > LEAST_P_VALUE


@pytest.mark.parametrize("name", DRAWS)
def test_seed_and_offset_decide_the_draws(name):
    first = draw(name, seed=8, offset=16, count=1000)
    assert torch.equal(draw(name, seed=8, offset=16, count=1000), first)
    assert not torch.equal(draw(name, seed=8, offset=20, count=1000), first)
    assert not torch.equal(draw(name, seed=9, offset=16, count=1000), first)


@pytest.mark.parametrize("name", ["uniform", "normal", "exponential", "bernoulli"])
def test_the_number_of_threads_does_not_change_the_draws(name):
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = draw(name, seed=21)
        torch.set_num_threads(4)
        assert torch.equal(draw(name, seed=21), alone)
    finally:
        torch.set_num_threads(threads)


def test_processes_draw_the_same(run_python):
    code = """
import torch, torch_npu
torch.npu.manual_seed(77)
draws = [torch.rand(3, device="npu"), torch.randn(3, device="npu"),
         torch.nn.functional.dropout(torch.ones(8, device="npu")), torch.randperm(5, device="npu")]
print([d.cpu().tolist() for d in draws])
"""
    first, second = run_python(code), run_python(code)
    assert first.stdout.startswith("[["), first.stderr
    assert first.stdout == second.stdout


def test_no_two_offsets_or_seeds_share_a_number():
    drawn = [bits(seed, 4 * step, 500) for seed in range(4) for step in range(100)]
    assert torch.cat(drawn).unique().numel() == 400 * 500


@pytest.mark.parametrize(("seed", "offset"), [(5, 4), (5, 2**40), (6, 0), (5 + 2**32, 0)])
def test_other_seeds_and_offsets_are_not_correlated(seed, offset):
    first, second = draw("normal", 5), draw("normal", seed, offset)
    assert stats.pearsonr(first.numpy(), second.numpy()).pvalue > LEAST_P_VALUE
    shifted = stats.pearsonr(first[1:].numpy(), second[:-1].numpy())
    assert shifted.pvalue > LEAST_P_VALUE


def test_one_draw_advances_the_generator_beyond_what_the_next_begins_with():
    made = generator(31)
    first = torch.rand(1000, device="npu", generator=made)
    second = torch.rand(1000, device="npu", generator=made)
    assert torch.cat([first, second]).unique().numel() > 1990


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_recomputed_block_draws_what_it_drew_first(use_reentrant):
    masks = []

    def block(x):
        dropped = torch.nn.functional.dropout(x, 0.5)
        masks.append((dropped != 0).cpu())
        return dropped * torch.rand_like(x)

    torch.npu.manual_seed(12)
    x = torch.ones(1000, device="npu", requires_grad=True)
    y = checkpoint(block, x, use_reentrant=use_reentrant)
    torch.rand(5, device="npu")  # the state moves on before the backward pass
    y.sum().backward()
    first, again = masks
    assert torch.equal(first, again)
    assert torch.equal(x.grad, y.detach())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("lambd", [1e-3, 1.0, 1e4])
def test_exponential_draws_are_positive_numbers(dtype, lambd):
    drawn = torch.empty(1_000_000, device="npu", dtype=dtype)
    drawn.exponential_(lambd, generator=generator(2))
    assert not drawn.isnan().any()
    assert drawn.min() > 0
    assert drawn.log().isfinite().logical_or(drawn.isinf()).all()


def test_exponential_draws_fill_a_strided_tensor():
    base = torch.zeros(10, 4, device="npu", dtype=torch.float16)
    base[:, ::2].exponential_(generator=generator(2))
    assert (base[:, ::2] > 0).all()
    assert (base[:, 1::2] == 0).all()
