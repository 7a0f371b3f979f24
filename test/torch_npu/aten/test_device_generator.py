"""Random operators draw from the generator of their tensors' device, whichever is current."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import torch_npu

npu = torch.npu

Draw = Callable[[torch.Tensor], object]

DRAWS: dict[str, Draw] = {
    "rand": lambda x: torch.rand(8, device=x.device),
    "randn": lambda x: torch.randn(8, device=x.device),
    "randint": lambda x: torch.randint(5, (8,), device=x.device),
    "randperm": lambda x: torch.randperm(8, device=x.device),
    "rand_like": torch.rand_like,
    "normal_": lambda x: x.normal_(),
    "uniform_": lambda x: x.uniform_(),
    "random_": lambda x: x.random_(),
    "random_to": lambda x: x.random_(5),
    "random_from": lambda x: x.random_(2, 5),
    "bernoulli": lambda x: torch.bernoulli(x / 2),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "bernoulli_tensor": lambda x: x.bernoulli_(x / 2),
    "exponential_": lambda x: x.exponential_(),
    "geometric_": lambda x: x.geometric_(0.5),
    "cauchy_": lambda x: x.cauchy_(),
    "log_normal_": lambda x: x.log_normal_(),
    "normal": lambda x: torch.normal(x, x),
    "normal_float": lambda x: torch.normal(x, 1.0),
    "normal_of_float": lambda x: torch.normal(1.0, x),
    "multinomial": lambda x: torch.multinomial(x, 4),
    "poisson": torch.poisson,
    "binomial": lambda x: torch.binomial(x * 9, x / 2),
    "gamma": torch._standard_gamma,
    "dirichlet": torch._sample_dirichlet,
    "dropout": lambda x: functional.dropout(x, 0.5),
    "alpha_dropout": lambda x: functional.alpha_dropout(x, 0.5, training=True),
    "rrelu": lambda x: functional.rrelu(-x, training=True),
    "attention": lambda x: functional.scaled_dot_product_attention(
        *[x.reshape(1, 1, 8, 8).half()] * 3, dropout_p=0.5
    ),
    "npu_fusion_attention": lambda x: torch_npu.npu_fusion_attention(
        *[x.reshape(1, 1, 8, 8).half()] * 3, 1, "BNSD", keep_prob=0.5
    ),
}


@pytest.mark.parametrize(("device", "current"), [(1, 0), (0, 1)])
@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_moves_the_generator_of_the_tensors_device(
    name: str, device: int, current: int
) -> None:
    x = torch.ones(64, device=f"npu:{device}")
    before = [npu.get_rng_state(index) for index in (device, current)]
    with npu.device(current):
        DRAWS[name](x)
    after = [npu.get_rng_state(index) for index in (device, current)]
    moved = [not torch.equal(*states) for states in zip(before, after, strict=True)]
    assert moved == [True, False]


def test_equal_states_draw_equal_numbers_on_another_device() -> None:
    state = npu.get_rng_state(1)
    first = torch.rand(64, device="npu:1")
    torch.rand(64, device="npu:0")
    npu.set_rng_state(state, 1)
    assert torch.equal(torch.rand(64, device="npu:1"), first)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_block_recomputed_on_another_device_draws_what_it_drew_first(use_reentrant) -> None:
    x = torch.ones(256, device="npu:1", requires_grad=True)
    result = checkpoint(functional.dropout, x, 0.5, use_reentrant=use_reentrant)
    result.sum().backward()
    assert torch.equal(x.grad, result)
