"""Forms of arithmetic and comparison that take a number, or write into their argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

X = torch.tensor([[-2.5, -1.0, 0.5], [0.0, 1.5, 3.0]])
Y = torch.tensor([[2.0, -1.0, 0.25], [1.5, 1.5, -4.0]])
WHOLE = torch.tensor([[6, 1, 12], [0, 255, 7]], dtype=torch.int32)
OTHERS = torch.tensor([[3, 2, 5], [1, 15, 9]], dtype=torch.int32)

COMPARISONS = ["gt", "ge", "lt", "le", "eq", "ne"]


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_with_a_number_and_in_place(same: Any, name: str) -> None:
    def call(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        compare, in_place = getattr(torch, name), name + "_"
        return [
            compare(x, 0.5),
            compare(x, y),
            getattr(x.clone(), in_place)(0.5),
            getattr(x.clone(), in_place)(y),
        ]

    same(call, X, Y)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bits_with_a_number_and_in_place(same: Any, name: str) -> None:
    def call(i: torch.Tensor, j: torch.Tensor) -> list[torch.Tensor]:
        operator, in_place = getattr(torch, name), name + "_"
        return [
            operator(i, 5),
            operator(i, j),
            getattr(i.clone(), in_place)(5),
            getattr(i.clone(), in_place)(j),
        ]

    same(call, WHOLE, OTHERS)


CALLS: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "add": lambda x, y: [x + 2.5, x + y, torch.add(x, y, alpha=3), 2 + x, torch.add(x, 2, alpha=3)],
    "add in place": lambda x, y: [x.clone().add_(2), x.clone().add_(y, alpha=2)],
    "subtract": lambda x, y: [x - 2.5, 3 - x, torch.sub(x, y, alpha=3), torch.rsub(x, y)],
    "subtract in place": lambda x, y: [x.clone().sub_(2), x.clone().sub_(y, alpha=2)],
    "multiply": lambda x, y: [x * 2.5, x * y, x.clone().mul_(3), x.clone().mul_(y)],
    "divide": lambda x, y: [x / 2.5, x / y, x.clone().div_(3), x.clone().div_(y), 3 / y],
    "divide and round": lambda x, y: [
        torch.div(x, other, rounding_mode=mode) for other in (2.5, y) for mode in ("floor", "trunc")
    ],
    "divide and round in place": lambda x, y: [
        x.clone().div_(other, rounding_mode=mode)
        for other in (2.5, y)
        for mode in ("floor", "trunc")
    ],
    "floor divide": lambda x, y: [x // 2, x // y, x.clone().floor_divide_(2)],
    "floor divide in place": lambda x, y: [x.clone().floor_divide_(y)],
    "fmod": lambda x, y: [
        torch.fmod(x, 2),
        torch.fmod(x, y),
        x.clone().fmod_(2),
        x.clone().fmod_(y),
    ],
    "remainder": lambda x, y: [x % 2, x % y, torch.remainder(2, y)],
    "remainder in place": lambda x, y: [x.clone().remainder_(2), x.clone().remainder_(y)],
    "power": lambda x, y: [y.abs() ** x, x**2, 2**x],
    "power in place": lambda x, y: [x.clone().pow_(2), y.abs().clone().pow_(x)],
    "float power": lambda x, y: [x.square(), x.clone().square_()],
    "xlogy": lambda x, y: [torch.xlogy(x, y.abs()), torch.xlogy(x, 2.0), torch.xlogy(2.0, y.abs())],
    "xlogy in place": lambda x, y: [x.clone().xlogy_(2.0), x.clone().xlogy_(y.abs())],
    "lerp": lambda x, y: [torch.lerp(x, y, 0.3), torch.lerp(x, y, y)],
    "lerp in place": lambda x, y: [x.clone().lerp_(y, 0.3), x.clone().lerp_(y, y)],
    "addcmul": lambda x, y: [
        torch.addcmul(x, x, y, value=2),
        x.clone().addcmul_(x, y, value=2),
        torch.addcdiv(x, x, y, value=2),
        x.clone().addcdiv_(x, y, value=2),
    ],
    "round to decimals": lambda x, y: [
        torch.round(x * 1.37, decimals=1),
        (x * 1.37).clone().round_(decimals=1),
        x.round(),
        x.clone().round_(),
    ],
    "clamp": lambda x, y: [
        x.clamp(-1, 1),
        x.clone().clamp_(-1, 1),
        x.clamp_min(y),
        x.clone().clamp_min_(y),
        x.clamp_max(0.5),
        x.clone().clamp_max_(0.5),
        x.clone().clamp_max_(y),
        x.clone().clamp_min_(0.5),
    ],
    "a number of the host on the left": lambda x, y: [
        torch.tensor(2.0) + x,
        torch.add(torch.tensor(2), x, alpha=0.5),
    ],
    "atan2": lambda x, y: [torch.atan2(x, y), x.clone().atan2_(y)],
    "addmm": lambda x, y: [
        torch.addmm(x[:, :2], x, y.t(), beta=0.5, alpha=2),
        x[:, :2].clone().addmm_(x, y.t(), beta=0.5, alpha=2),
        x.clone().addr_(x[:, 0], y[0], beta=0.5, alpha=2),
        torch.baddbmm(x[None, :, :2], x[None], y.t()[None], beta=0.5),
        x[None, :, :2].clone().baddbmm_(x[None], y.t()[None], beta=0.5),
    ],
    "add and relu": lambda x, y: [
        torch.ops.aten._add_relu.Tensor(x, y, alpha=2),
        torch.ops.aten._add_relu_.Tensor(x.clone(), y, alpha=2),
    ],
    "smallest and greatest": lambda x, y: [
        *torch.aminmax(x),
        *torch.aminmax(x, dim=1),
        *torch.ops.aten._aminmax(x),
        *torch.ops.aten._aminmax.dim(x, 1),
    ],
    "renorm": lambda x, y: [x.renorm(2, 0, 1.5), x.clone().renorm_(2, 0, 1.5)],
    "nan to num": lambda x, y: [(x / 0).nan_to_num(1, 2, 3), (x / 0).nan_to_num_(1, 2, 3)],
    "fill": lambda x, y: [
        x.clone().fill_(2),
        x.clone().fill_(y[0, 0]),
        x.clone().zero_(),
        x.clone().fill_diagonal_(7),
        x.clone().masked_fill_(y > 0, 3),
        x.clone().masked_fill_(y > 0, y[0, 0]),
    ],
    "triangles": lambda x, y: [x.clone().tril_(), x.clone().triu_(1), x.tril(-1), x.triu()],
}


@pytest.mark.parametrize("name", CALLS)
def test_arithmetic(same: Any, name: str) -> None:
    same(CALLS[name], X, Y)


UNARY = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "log",
    "log10",
    "log1p",
    "log2",
    "logit",
    "neg",
    "reciprocal",
    "relu",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


def test_unary_operators_in_place(same: Any) -> None:
    inside = torch.tensor([0.2, 0.5, 0.9])
    same(lambda x: [getattr(x.clone(), name + "_")() for name in UNARY if name != "acosh"], inside)
    same(lambda x: [x.acosh(), x.clone().acosh_()], inside + 1)
    same(lambda i: [~i, i.clone().bitwise_not_(), i.logical_not(), i.clone().logical_not_()], WHOLE)


def test_shifts(same: Any) -> None:
    def call(i: torch.Tensor, j: torch.Tensor) -> list[torch.Tensor]:
        return [i << 2, i >> 1, i << (j % 4), i >> (j % 4), i.clone().bitwise_left_shift_(1)]

    same(call, WHOLE, OTHERS)


def test_indices_and_membership(same: Any) -> None:
    index = torch.tensor([2, 0])

    def call(x: torch.Tensor, y: torch.Tensor, index: torch.Tensor) -> list[torch.Tensor]:
        return [
            x.index_fill(1, index, 5.0),
            x.index_fill(1, index, y[0, 0]),
            x.clone().index_fill_(1, index, 5.0),
            x.clone().index_fill_(1, index, y[0, 0]),
            x.index_add(1, index, y[:, :2], alpha=2),
            x.clone().index_add_(1, index, y[:, :2], alpha=2),
            x.index_copy(1, index, y[:, :2]),
            x.scatter(1, index.expand(2, 2), 5.0),
            x.clone().scatter_(1, index.expand(2, 2), 5.0),
            x.clone().scatter_(1, index.expand(2, 2), y),
            x.clone().scatter_add_(1, index.expand(2, 2), y),
            x.scatter_reduce(1, index.expand(2, 2), y, "sum"),
            x.clone().scatter_reduce_(1, index.expand(2, 2), y, "amax"),
            torch.isin(x, torch.tensor(0.5, device=x.device)),
            torch.isin(x, 0.5),
            torch.isin(1.5, y),
            torch.isin(x, y),
            torch.searchsorted(torch.sort(x[0]).values, 0.2),
            torch.searchsorted(torch.sort(x[0]).values, y),
            torch.bucketize(y, torch.sort(x[0]).values),
            torch.bucketize(0.3, torch.sort(x[0]).values),
        ]

    same(call, X, Y, index)


def test_repetition(same: Any) -> None:
    repeats = torch.tensor([2, 0, 1])

    def call(x: torch.Tensor, repeats: torch.Tensor) -> list[torch.Tensor]:
        return [
            torch.repeat_interleave(x, 2),
            torch.repeat_interleave(x, 2, dim=1),
            torch.repeat_interleave(x[0], repeats),
            torch.repeat_interleave(x, repeats, dim=1),
            torch.repeat_interleave(repeats),
            torch.range(1, 7, 2, device=x.device),
            torch.arange(1, 7, 2, device=x.device),
        ]

    same(call, X, repeats)


def test_gradient_of_a_repetition(same: Any) -> None:
    def call(x: torch.Tensor, repeats: torch.Tensor) -> list[torch.Tensor]:
        leaf = x.detach().requires_grad_()
        (torch.repeat_interleave(leaf, 2, dim=1).cos().sum()).backward()
        other = x.detach().requires_grad_()
        (torch.repeat_interleave(other, repeats, dim=1).cos().sum()).backward()
        return [leaf.grad, other.grad]

    same(call, X, torch.tensor([2, 0, 1]))
