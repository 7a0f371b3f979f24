"""Operators on lists of tensors with numbers, and the optimizers that are made of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

SIZES = [(3, 4), (5,), (2, 1, 3)]
NUMBERS = [0.5, 1.5, 2.0]


def positive(seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(size, generator=generator) + 0.5 for size in SIZES]


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "div", "pow", "clamp_min", "clamp_max", "maximum", "minimum"]
)
def test_a_list_with_a_number_with_numbers_and_with_a_list(same: Any, name: str) -> None:
    def call(x: list[torch.Tensor], y: list[torch.Tensor]) -> list[Any]:
        operator = getattr(torch, f"_foreach_{name}")
        in_place = getattr(torch, f"_foreach_{name}_")
        results = []
        for other in (1.5, NUMBERS, y):
            results += operator(x, other)
            copies = [tensor.clone() for tensor in x]
            in_place(copies, other)
            results += copies
        return results

    same(call, positive(0), positive(1))


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_products_and_quotients_are_added(same: Any, name: str) -> None:
    def call(x: list[torch.Tensor], y: list[torch.Tensor], z: list[torch.Tensor]) -> list[Any]:
        results = []
        for value in (1.5, NUMBERS, torch.tensor(NUMBERS)):
            results += getattr(torch, f"_foreach_{name}")(x, y, z, value)
            copies = [tensor.clone() for tensor in x]
            getattr(torch, f"_foreach_{name}_")(copies, y, z, value)
            results += copies
        return results

    same(call, positive(0), positive(1), positive(2))


def test_powers_norms_and_weighted_means(same: Any) -> None:
    def call(x: list[torch.Tensor], y: list[torch.Tensor]) -> list[Any]:
        copies = [tensor.clone() for tensor in x]
        torch._foreach_zero_(copies)
        return [
            torch._foreach_pow(2.0, x),
            torch._foreach_norm(x),
            torch._foreach_norm(x, 1),
            torch._foreach_lerp(x, y, 0.3),
            torch._foreach_lerp(x, y, y),
            copies,
        ]

    same(call, positive(0), positive(1))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "fused": True}),
        (torch.optim.Adam, {"lr": 0.1, "amsgrad": True}),
        (torch.optim.AdamW, {"lr": 0.1}),
        (torch.optim.AdamW, {"lr": 0.1, "fused": True}),
        (torch.optim.AdamW, {"lr": 0.1, "fused": True, "amsgrad": True}),
        (torch.optim.Adadelta, {}),
        (torch.optim.Adagrad, {"lr": 0.1}),
        (torch.optim.Adamax, {"lr": 0.1}),
        (torch.optim.NAdam, {"lr": 0.1}),
        (torch.optim.RAdam, {"lr": 0.1}),
        (torch.optim.RMSprop, {"lr": 0.1, "momentum": 0.5, "centered": True}),
        (torch.optim.Rprop, {"lr": 0.1}),
        (torch.optim.ASGD, {"lr": 0.1}),
    ],
)
def test_optimizers_step_as_on_the_cpu(same: Any, kind: Any, options: dict[str, Any]) -> None:
    def call(x: list[torch.Tensor]) -> list[torch.Tensor]:
        parameters = [tensor.detach().requires_grad_() for tensor in x]
        optimizer = kind(parameters, **options)
        for _ in range(3):
            optimizer.zero_grad()
            sum((tensor.sin() * tensor).sum() for tensor in parameters).backward()
            optimizer.step()
        return [tensor.detach() for tensor in parameters]

    same(call, positive(0), rtol=1e-4, atol=1e-5)


def test_gradients_are_unscaled_and_the_scale_is_updated(same: Any) -> None:
    def call(x: list[torch.Tensor]) -> list[Any]:
        device = x[0].device
        found = torch.zeros(1, device=device)
        inverse = torch.tensor([0.25], device=device)
        torch._amp_foreach_non_finite_check_and_unscale_(x, found, inverse)
        scale = torch.tensor([8.0], device=device)
        growth = torch.tensor([1], dtype=torch.int32, device=device)
        torch._amp_update_scale_(scale, growth, found, 2.0, 0.5, 2)
        return [x, found, scale, growth]

    same(call, positive(0))
    same(call, [*positive(0)[:2], torch.full((3,), float("inf"))])
