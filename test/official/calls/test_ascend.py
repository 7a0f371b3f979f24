"""Ascend's own operators that our torch_npu lacks or gives to another function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.nn import functional

FRACTAL_NZ = 29


def numbers(*sizes: int) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(0))


def attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, layout: str, **options: Any
) -> torch.Tensor:
    return torch.ops.npu.npu_fusion_attention_v2(
        query, key, value, 2, layout, scale=0.3, **options
    )[0]


def compare_gradients(wanted: Any, got: Any, inputs: list[torch.Tensor]) -> None:
    results = []
    for call, device in ((wanted, "cpu"), (got, "npu")):
        leaves = [x.detach().to(device).requires_grad_() for x in inputs]
        output = call(*leaves)
        (output.sin() * output).sum().backward()
        results.append([output.detach(), *(leaf.grad for leaf in leaves)])
    for want, found in zip(*results, strict=True):
        torch.testing.assert_close(found.cpu(), want, rtol=1e-4, atol=1e-5)


def test_attention_and_its_gradients() -> None:
    inputs = [numbers(2, 2, length, 16) for length in (4, 6, 6)]
    compare_gradients(
        lambda *x: functional.scaled_dot_product_attention(*x, scale=0.3),
        lambda *x: attention(*x, "BNSD"),
        inputs,
    )


def test_attention_of_packed_sequences_and_its_gradients() -> None:
    ends = [2, 6]

    def apart(*packed: torch.Tensor) -> torch.Tensor:
        parts = [x.split([2, 4]) for x in packed]
        outputs = []
        for part in zip(*parts, strict=True):
            heads_first = [x.transpose(0, 1) for x in part]
            one = functional.scaled_dot_product_attention(*heads_first, scale=0.3)
            outputs.append(one.transpose(0, 1))
        return torch.cat(outputs)

    compare_gradients(
        apart,
        lambda *x: attention(*x, "TND", actual_seq_qlen=ends, actual_seq_kvlen=ends),
        [numbers(6, 2, 16) + i for i in range(3)],
    )


def test_rows_are_gathered_and_added() -> None:
    x, index, source = numbers(5, 3), torch.tensor([3, 1, 3]), numbers(3, 3)
    there = [t.npu() for t in (x, index, source)]
    gathered = torch.ops.npu.npu_gather_sparse_index(there[0], there[1])
    assert torch.equal(gathered.cpu(), x[index])
    want = x.index_add(0, index, source, alpha=2)
    added = torch.ops.npu._npu_index_add(*there, alpha=2)
    torch.testing.assert_close(added.cpu(), want)
    assert torch.equal(there[0].cpu(), x)
    torch.ops.npu._npu_index_add_(*there, alpha=2)
    torch.testing.assert_close(there[0].cpu(), want)


def test_inverses_and_determinants(same: Any) -> None:
    """PyTorch makes these of other operators; the wheel has functions for them."""
    same(lambda x: [torch.inverse(x), *torch.slogdet(x)], numbers(2, 4, 4), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_a_step_of_adam_with_powers(maximize: bool, amsgrad: bool) -> None:
    """A 910B is asked for a single operator. The powers are those of the steps before."""
    first, second, rate, decay, epsilon = 0.9, 0.99, 0.1, 0.02, 1e-8
    var, m, v, grad, greatest = (numbers(3, 4) + i for i in range(5))
    v, greatest = v.abs(), greatest.abs() / 3
    there = [t.npu() for t in (var, m, v, greatest)]
    torch.ops.npu.npu_apply_adam_w.out(
        first, second, rate, decay, first, second, epsilon, grad.npu(),
        there[3] if amsgrad else None, amsgrad, maximize, out=there[:3],
    )  # fmt: skip
    g = -grad if maximize else grad
    m = first * m + (1 - first) * g
    v = second * v + (1 - second) * g * g
    wanted = [m, v]
    if amsgrad:
        greatest = torch.maximum(greatest, v)
        wanted.append(greatest)
    root = (greatest if amsgrad else v) / (1 - second**2)
    step = rate * (m / (1 - first**2)) / (root.sqrt() + epsilon)
    wanted.insert(0, var - rate * decay * var - step)
    for got, want in zip(there, wanted, strict=amsgrad):
        torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-5)


@pytest.fixture
def private_formats() -> Iterator[None]:
    """The wheel casts to a private format only where this is allowed."""
    torch.npu.config.allow_internal_format = True
    yield
    torch.npu.config.allow_internal_format = False


def in_private_format(weight: torch.Tensor) -> torch.Tensor:
    cast = torch.ops.npu.npu_format_cast(weight.npu(), FRACTAL_NZ)
    assert torch.ops.npu.get_npu_format(cast) == FRACTAL_NZ
    return cast


@pytest.mark.usefixtures("private_formats")
def test_quantised_product_with_a_weight_in_a_private_format() -> None:
    x, weight = (torch.arange(n * 64).remainder(255).sub(127).to(torch.int8) for n in (3, 32))
    x, weight = x.view(3, 64), weight.view(64, 32)
    scale, tokens = numbers(32).abs() * 1e-3, numbers(3).abs()
    got = torch.ops.npu.npu_quant_matmul(
        x.npu(),
        in_private_format(weight),
        scale.npu(),
        pertoken_scale=tokens.npu(),
        output_dtype=torch.bfloat16,
    )
    want = (x.double() @ weight.double()) * scale * tokens.unsqueeze(1)
    torch.testing.assert_close(got.cpu(), want.bfloat16())


@pytest.mark.usefixtures("private_formats")
def test_products_with_a_matrix_in_a_private_format() -> None:
    x, weight, bias = numbers(5, 32).half(), numbers(32, 64).half(), numbers(64).half()
    private = in_private_format(weight)
    product = x.double() @ weight.double()
    torch.testing.assert_close(torch.mm(x.npu(), private).cpu(), product.half())
    added = torch.addmm(bias.npu(), x.npu(), private)
    torch.testing.assert_close(added.cpu(), (bias + product).half())


@pytest.mark.usefixtures("private_formats")
def test_grouped_products_with_weights_in_a_private_format() -> None:
    x, weight = numbers(5, 32).half(), numbers(2, 32, 16).half()
    (got,) = torch.ops.npu.npu_grouped_matmul(
        [x.npu()],
        [in_private_format(weight)],
        group_list=torch.tensor([2, 5], device="npu"),
        split_item=3,
        group_type=0,
    )
    want = torch.cat([x[:2].double() @ weight[0].double(), x[2:].double() @ weight[1].double()])
    torch.testing.assert_close(got.cpu(), want.half(), rtol=1e-2, atol=1e-2)
