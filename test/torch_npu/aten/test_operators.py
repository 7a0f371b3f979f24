"""Operators of the table beyond what PyTorch's OpInfo samples ask of them."""

from __future__ import annotations

import pytest
import torch


def assert_no_fallback(before: dict[str, int]) -> None:
    assert torch.npu.fallback_counts() == before


@pytest.mark.parametrize("size", [(5,), (3, 4), (2, 3, 2)])
def test_nonzero_has_the_strides_that_it_has_on_the_cpu(size: tuple[int, ...]) -> None:
    mask = torch.randint(0, 2, size)
    expected, actual = mask.nonzero(), mask.npu().nonzero()
    assert actual.stride() == expected.stride()
    torch.testing.assert_close(actual.cpu(), expected)


def test_the_out_form_of_nonzero_resizes_its_argument() -> None:
    mask = torch.tensor([[0, 1], [2, 0]]).npu()
    out = torch.empty(0, dtype=torch.int64, device="npu")
    assert torch.nonzero(mask, out=out) is out
    assert out.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(RuntimeError, match="dtype"):
        torch.nonzero(mask, out=torch.empty(0, device="npu"))


def test_mode_writes_into_given_tensors() -> None:
    values = torch.tensor([[1, 2, 2], [3, 3, 1]]).npu()
    out = (
        torch.empty(0, dtype=torch.int64, device="npu"),
        torch.empty(0, dtype=torch.int64, device="npu"),
    )
    torch.mode(values, out=out)
    torch.testing.assert_close(out[0].cpu(), values.cpu().mode().values)
    torch.testing.assert_close(out[1].cpu(), values.cpu().mode().indices)


def test_an_unknown_approximation_of_gelu_is_refused() -> None:
    with pytest.raises(RuntimeError, match="either none or tanh"):
        torch.nn.functional.gelu(torch.ones(3, device="npu"), approximate="bad")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_batch_norm_writes_into_given_tensors_of_half_precision(dtype: torch.dtype) -> None:
    x = torch.randn(4, 3, 5).to(dtype)

    def run(device: str) -> list[torch.Tensor]:
        out = tuple(torch.empty(0, dtype=dtype, device=device) for _ in range(3))
        arguments = (None, None, None, None, True, 0.1, 1e-5)
        torch.native_batch_norm(x.to(device), *arguments, out=out)
        return [tensor.cpu() for tensor in out]

    torch.testing.assert_close(run("npu"), run("cpu"), rtol=1e-2, atol=1e-2)


def test_the_solution_of_a_system_on_the_right_is_not_left_conjugated() -> None:
    a, b = torch.randn(3, 3, dtype=torch.complex64), torch.randn(2, 3, dtype=torch.complex64)
    factors, pivots = torch.linalg.lu_factor(a)
    expected = torch.linalg.lu_solve(factors, pivots, b, left=False)
    actual = torch.linalg.lu_solve(factors.npu(), pivots.npu(), b.npu(), left=False)
    torch.testing.assert_close(actual.cpu(), expected)


def test_products_in_a_wider_dtype() -> None:
    a, b = torch.randn(2, 3, 4).bfloat16(), torch.randn(2, 4, 5).bfloat16()
    c = torch.randn(2, 3, 5).bfloat16()
    wide = [tensor.float() for tensor in (a, b, c)]
    on_npu = [tensor.npu() for tensor in (a, b, c)]
    float32 = torch.float32
    results = [
        torch.mm(on_npu[0][0], on_npu[1][0], out_dtype=float32),
        torch.bmm(on_npu[0], on_npu[1], out_dtype=float32),
        torch.addmm(on_npu[2][0], on_npu[0][0], on_npu[1][0], out_dtype=float32),
        torch.baddbmm(on_npu[2], on_npu[0], on_npu[1], out_dtype=float32),
    ]
    expected = [
        wide[0][0] @ wide[1][0],
        wide[0] @ wide[1],
        wide[2][0] + wide[0][0] @ wide[1][0],
        wide[2] + wide[0] @ wide[1],
    ]
    assert all(result.dtype == float32 for result in results)
    torch.testing.assert_close([result.cpu() for result in results], expected)


def test_a_dense_tensor_becomes_sparse_without_the_host() -> None:
    dense = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
    before = torch.npu.fallback_counts()
    sparse = dense.npu().to_sparse()
    compressed = dense.npu().to_sparse_csr()
    assert_no_fallback(before)
    assert sparse.indices().tolist() == dense.to_sparse().coalesce().indices().tolist()
    assert compressed.crow_indices().tolist() == [0, 1, 3]
    torch.testing.assert_close(sparse.cpu().to_dense(), dense)


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: x.geometric_(0.3),
        lambda x: x.cauchy_(),
        lambda x: x.log_normal_(),
        lambda x: torch.poisson(x.fill_(3)),
        lambda x: torch.binomial(x.fill_(9), torch.full_like(x, 0.4)),
        lambda x: torch._standard_gamma(x.fill_(2)),
        lambda x: torch.normal(x.fill_(2), torch.ones_like(x)),
        lambda x: torch.normal(2.0, x.fill_(1)),
        lambda x: torch.nn.functional.rrelu(x.fill_(-1), training=True),
    ],
)
def test_random_operators_repeat_their_draws_for_the_same_seed(draw) -> None:
    before = torch.npu.fallback_counts()

    def draws() -> tuple[torch.Tensor, torch.Tensor]:
        torch.npu.manual_seed(7)
        return draw(torch.empty(500, device="npu")).cpu(), draw(torch.empty(500).npu()).cpu()

    first, second = draws(), draws()
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1], second[1])
    assert not torch.equal(first[0], first[1])
    assert first[0].isfinite().all()
    assert_no_fallback(before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.geometric_(1.5), "geometric_ expects p"),
        (lambda x: x.cauchy_(sigma=-1), "cauchy_ expects sigma"),
        (lambda x: x.log_normal_(std=-1), "log_normal_ expects std"),
        (lambda x: torch.bincount(x.long() - 2), "non-negative"),
        (lambda x: torch.trace(x), "expected a matrix"),
        (lambda x: torch.repeat_interleave(x.long() - 2), "can not be negative"),
        (lambda x: torch.tril_indices(-1, 2, device="npu"), "row must be non-negative"),
    ],
)
def test_arguments_that_the_kernel_would_refuse_too_late_are_refused_at_the_call(
    call, message
) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(torch.ones(3, device="npu"))


def test_a_lazily_conjugated_out_is_refused() -> None:
    x = torch.ones(2, 2, dtype=torch.complex64, device="npu")
    with pytest.raises(RuntimeError, match="lazily conjugated"):
        torch.vdot(x[0], x[1], out=torch.empty((), dtype=torch.complex64, device="npu").conj())


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])
def test_an_empty_index_beside_another_selects_nothing(dtype: torch.dtype) -> None:
    x = torch.arange(6, device="npu").reshape(2, 3).to(dtype)
    none = torch.tensor([], dtype=torch.int64, device="npu")
    first = torch.tensor([0], device="npu")
    assert x[first, none].shape == (0,)
    assert x[:, none].shape == (2, 0)
    x[first, none] = 9
    x[none] = 9
    assert 9 not in x.tolist()[0]


def test_forms_with_given_tensors_take_no_detour() -> None:
    before = torch.npu.fallback_counts()
    matrix, out = torch.randn(2, 3, 3), torch.empty(0, dtype=torch.complex64, device="npu")
    assert torch.linalg.eigvals(matrix.npu(), out=out) is out
    torch.testing.assert_close(out.cpu(), torch.linalg.eigvals(matrix))
    part = torch.empty(0, device="npu")
    torch.narrow_copy(matrix.npu().mT, 1, 1, 2, out=part)
    assert_no_fallback(before)
    torch.testing.assert_close(part.cpu(), matrix.mT[:, 1:])


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (0, 3, 3)])
def test_eigenvectors_stand_in_columns_as_fake_tensors_say(shape: tuple[int, ...]) -> None:
    matrix = torch.randn(shape)
    values, vectors = torch.linalg.eig(matrix.npu())
    assert vectors.stride() == torch.linalg.eig(matrix).eigenvectors.stride()
    torch.testing.assert_close((matrix.npu() + 0j) @ vectors, vectors * values.unsqueeze(-2))


def test_scaled_products_of_any_layout() -> None:
    a, b = (torch.randn(4, 4).to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.ones(())
    expected = torch._scaled_mm(a.t(), b, one, one, out_dtype=torch.bfloat16)
    actual = torch._scaled_mm(a.npu().t(), b.npu(), one.npu(), one.npu(), out_dtype=torch.bfloat16)
    torch.testing.assert_close(actual.cpu(), expected)


@pytest.mark.parametrize("dim", [None, (), 0, (0, 1)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_nansum_takes_no_dimension_for_all_of_them(dim: object, keepdim: bool) -> None:
    x = torch.tensor([[1.0, float("nan")], [2.0, 4.0]])
    expected = torch.nansum(x, dim=dim, keepdim=keepdim)
    torch.testing.assert_close(torch.nansum(x.npu(), dim=dim, keepdim=keepdim).cpu(), expected)


@pytest.mark.parametrize("output_size", [None, 6])
def test_each_element_is_repeated_as_often_as_a_tensor_says(output_size: int | None) -> None:
    x, repeats = torch.randn(4, 2), torch.tensor([3, 0, 2, 1])
    expected = torch.repeat_interleave(x, repeats, 0)
    actual = torch.repeat_interleave(x.npu(), repeats.npu(), 0, output_size=output_size)
    torch.testing.assert_close(actual.cpu(), expected)
    twice = torch.repeat_interleave(x.npu(), 2, 0)
    torch.testing.assert_close(twice.cpu(), x.repeat_interleave(2, 0))


def test_a_number_is_looked_up_in_a_tensor() -> None:
    tensor = torch.tensor([1.0, 2.0]).npu()
    before = torch.npu.fallback_counts()
    found = torch.isin(2.0, tensor)
    assert (found.shape, found.dtype) == ((), torch.bool)
    assert found.item()
    assert not torch.isin(3, tensor).item()
    assert_no_fallback(before)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: torch.take(x, torch.zeros(2, dtype=torch.int64, device=x.device), out=out),
        lambda x, out: torch.masked_select(x, x > 0, out=out),
        lambda x, out: torch.bernoulli(x, out=out),
        lambda x, out: torch.addbmm(x, x.view(1, 4, 1), x.view(1, 1, 4), out=out.expand(4, 4)),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_an_out_that_overlaps_itself_is_refused_at_the_call(call, device: str) -> None:
    x = torch.rand(4, device=device)
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        call(x, torch.zeros(1, device=device).expand(4))
    if device == "npu":
        torch.npu.synchronize()


def test_what_a_meta_function_refuses_is_asked_of_the_cpu() -> None:
    """PyTorch's meta functions are stricter than its kernels, or raise errors of Python's own."""
    x = torch.rand(3)
    with pytest.raises(RuntimeError, match="must have at least 2 dimensions"):
        torch.cholesky(x.npu())
    loss = torch.ops.aten.huber_loss(x.npu(), x.npu() + 1, -1, 1.0)  # no such reduction: none
    torch.testing.assert_close(loss.cpu(), torch.ops.aten.huber_loss(x, x + 1, -1, 1.0))
