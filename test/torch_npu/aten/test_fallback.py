"""Operators without an npu kernel: same results as on the CPU, with npu tensors."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
import torch

import torch_npu

# Operators of a library of our own have no npu kernel, whatever the operator table may grow.
SCHEMAS = [
    "add_one(Tensor x) -> Tensor",
    "add_one_(Tensor(a!) x) -> Tensor(a!)",
    "add_one_out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
    "first_row(Tensor(a) x) -> Tensor(a)",
    "halves(Tensor(a) x) -> Tensor(a)[]",
    "same(Tensor(a) x) -> Tensor(a)",
    "total(Tensor[] xs) -> Tensor",
    "total_optional(Tensor?[] xs, Tensor? y=None) -> Tensor",
    "increment_each_(Tensor(a!)[] xs) -> ()",
    "both(Tensor x) -> (Tensor, int, Tensor)",
    "overlapping(Tensor x) -> (Tensor, Tensor)",
    "make(int n, *, Device? device=None) -> Tensor",
    "draw(Tensor x, *, Generator? generator=None) -> Tensor",
    "resize_twice_(Tensor(a!) x) -> Tensor(a!)",
    "shares(Tensor(a!) x, Tensor y) -> bool",
    "untouched(Tensor x) -> Tensor",
]
LIBRARY = torch.library.Library("npu_fallback_test", "DEF")
for schema in SCHEMAS:
    LIBRARY.define(schema)
ops = torch.ops.npu_fallback_test


def host_kernel(name: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    def register(function: Callable[..., object]) -> Callable[..., object]:
        LIBRARY.impl(name, function, "CPU")
        return function

    return register


def make(n: int, *, device: torch.device | None = None) -> torch.Tensor:
    assert device is None or device.type == "cpu"
    return torch.arange(n)


LIBRARY.impl("make", make, "CPU")
LIBRARY.impl(
    "make",
    lambda n, *, device=None: ops.make.default.redispatch(
        torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse1), n, device=device
    ),
    "BackendSelect",
)


@host_kernel("add_one")
def add_one(x: torch.Tensor) -> torch.Tensor:
    assert x.device.type == "cpu"
    return x + 1


@host_kernel("add_one_")
def add_one_(x: torch.Tensor) -> torch.Tensor:
    return x.add_(1)


@host_kernel("add_one_out")
def add_one_out(x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return torch.add(x, 1, out=out)


@host_kernel("first_row")
def first_row(x: torch.Tensor) -> torch.Tensor:
    return x[0]


@host_kernel("halves")
def halves(x: torch.Tensor) -> list[torch.Tensor]:
    return list(x.chunk(2))


@host_kernel("same")
def same(x: torch.Tensor) -> torch.Tensor:
    return x


@host_kernel("total")
def total(xs: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack([x.sum() for x in xs]).sum()


@host_kernel("total_optional")
def total_optional(xs: list[torch.Tensor | None], y: torch.Tensor | None = None) -> torch.Tensor:
    return total([x for x in [*xs, y] if x is not None])


@host_kernel("increment_each_")
def increment_each_(xs: list[torch.Tensor]) -> None:
    for x in xs:
        x.add_(1)


@host_kernel("both")
def both(x: torch.Tensor) -> tuple[torch.Tensor, int, torch.Tensor]:
    return x + 1, x.numel(), x * 2


@host_kernel("overlapping")
def overlapping(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    whole = x + 1
    return whole, whole[1:]


@host_kernel("draw")
def draw(x: torch.Tensor, *, generator: torch.Generator | None = None) -> torch.Tensor:
    return torch.rand(x.shape, generator=generator)


@host_kernel("resize_twice_")
def resize_twice_(x: torch.Tensor) -> torch.Tensor:
    return x.resize_(x.numel() * 2)


@host_kernel("shares")
def shares(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


def npu(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32).to("npu")


def count(name: str) -> int:
    return torch_npu._C._npu_fallbackCounts().get(name, 0)


def test_result_is_new_and_on_the_device() -> None:
    result = ops.add_one(npu(1, 2))
    assert result.device.type == "npu"
    assert result.cpu().tolist() == [2, 3]


def test_host_operator_waits_for_queued_work() -> None:
    x = torch.zeros(1 << 20, device="npu")
    for _ in range(10):
        x.add_(1)
    assert ops.add_one(x)[-1].item() == 11


def test_result_stays_on_the_arguments_device() -> None:
    if torch.npu.device_count() < 2:
        pytest.skip("needs two devices")
    assert ops.add_one(npu(1).to("npu:1")).device == torch.device("npu:1")


def test_in_place_operator_writes_the_argument_and_returns_it() -> None:
    x = npu(1, 2)
    address = x.data_ptr()
    result = ops.add_one_(x)
    assert result is x
    assert x.data_ptr() == address
    assert x.cpu().tolist() == [2, 3]


def test_in_place_operator_on_a_strided_view() -> None:
    base = torch.zeros(3, 4, device="npu")
    ops.add_one_(base[:, 1::2])
    assert base.cpu().tolist() == [[0, 1, 0, 1]] * 3


def test_out_argument_is_written_and_returned() -> None:
    out = torch.empty(2, device="npu")
    assert ops.add_one_out(npu(1, 2), out=out) is out
    assert out.cpu().tolist() == [2, 3]


def test_out_argument_is_resized() -> None:
    out = torch.empty(0, device="npu")
    ops.add_one_out(npu(1, 2, 3), out=out)
    assert out.shape == (3,)
    assert out.device.type == "npu"
    assert out.cpu().tolist() == [2, 3, 4]
    out.add_(1)
    assert out.cpu().tolist() == [3, 4, 5]


def test_resized_argument_keeps_its_contents_and_its_views_follow() -> None:
    x = npu(1, 2)
    alias = x.view(2)
    ops.resize_twice_(x)
    assert x.shape == (4,)
    assert x.cpu()[:2].tolist() == [1, 2]
    x.fill_(7)
    assert alias.cpu().tolist() == [7, 7]


def test_view_result_shares_memory_with_the_argument() -> None:
    x = torch.zeros(2, 3, device="npu")
    row = ops.first_row(x)
    row.fill_(4)
    assert x.cpu().tolist() == [[4, 4, 4], [0, 0, 0]]
    assert row.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def test_list_of_views_shares_memory_with_the_argument() -> None:
    x = torch.zeros(4, device="npu")
    low, high = ops.halves(x)
    high.fill_(1)
    assert x.cpu().tolist() == [0, 0, 1, 1]
    assert low.cpu().tolist() == [0, 0]


def test_argument_returned_as_it_is_stays_the_same_memory() -> None:
    x = npu(1)
    assert ops.same(x).data_ptr() == x.data_ptr()


def test_lists_and_optional_tensors() -> None:
    assert ops.total([npu(1, 2), npu(3)]).item() == 6
    assert ops.total_optional([npu(1), None, npu(2)]).item() == 3
    assert ops.total_optional([None], npu(5)).item() == 5


def test_every_tensor_of_a_written_list_is_written() -> None:
    xs = [npu(1), npu(2, 3)]
    ops.increment_each_(xs)
    assert [x.cpu().tolist() for x in xs] == [[2], [3, 4]]


def test_results_that_are_not_tensors_pass_through() -> None:
    one_more, numel, doubled = ops.both(npu(1, 2))
    assert (one_more.cpu().tolist(), numel, doubled.cpu().tolist()) == ([2, 3], 2, [2, 4])


def test_results_that_share_memory_go_on_sharing_it() -> None:
    whole, tail = ops.overlapping(npu(1, 2, 3))
    tail.fill_(0)
    assert whole.cpu().tolist() == [2, 0, 0]


def test_arguments_that_share_memory_share_it_on_the_host() -> None:
    x = torch.zeros(4, device="npu")
    assert ops.shares(x[:2], x[2:])
    assert not ops.shares(x, torch.zeros(4, device="npu"))


def test_device_argument_becomes_cpu_and_the_result_npu() -> None:
    assert ops.make(3, device=torch.device("npu")).cpu().tolist() == [0, 1, 2]
    assert ops.make(3, device=torch.device("npu")).device.type == "npu"


def test_device_argument_of_the_cpu_leaves_the_result_there() -> None:
    quantized = torch.quantize_per_tensor(torch.ones(2, device="npu"), 0.5, 0, torch.qint8)
    assert torch.empty_like(quantized, device="cpu").device.type == "cpu"


def test_empty_tensors() -> None:
    assert ops.add_one(torch.empty(0, 3, device="npu")).shape == (0, 3)
    assert ops.add_one_(torch.empty(0, device="npu")).shape == (0,)


def test_transposed_and_offset_arguments() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    there = x.to("npu")
    assert torch.equal(ops.add_one(there.t()[1:]).cpu(), x.t()[1:] + 1)


def test_conjugated_and_negated_arguments() -> None:
    x = torch.tensor([1 + 2j, 3 - 4j])
    assert torch.equal(ops.add_one(x.to("npu").conj()).cpu(), x.conj() + 1)
    assert torch.equal(ops.add_one(x.to("npu").conj().imag).cpu(), x.conj().imag + 1)


def test_numbers_keep_their_weak_type() -> None:
    assert torch.ops.aten.add.Tensor(npu(1), torch.tensor(2)).dtype == torch.float32
    assert (torch.ones(1, dtype=torch.float16, device="npu") + 1.5).dtype == torch.float16


def test_npu_generator_decides_the_numbers_and_moves_on() -> None:
    x = torch.empty(8, device="npu")
    generator = torch.Generator("npu").manual_seed(5)
    first = ops.draw(x, generator=generator)
    second = ops.draw(x, generator=generator)
    generator.manual_seed(5)
    again = ops.draw(x, generator=generator)
    assert torch.equal(first.cpu(), again.cpu())
    assert not torch.equal(first.cpu(), second.cpu())


def test_generator_of_the_cpu_is_refused() -> None:
    with pytest.raises(RuntimeError, match="'npu:0' device type for generator but found 'cpu'"):
        ops.draw(torch.empty(2, device="npu"), generator=torch.Generator())


def test_random_operators_leave_the_cpu_generator_alone() -> None:
    torch.npu.manual_seed(3)
    before = torch.get_rng_state()
    x = torch.full((64,), 0.5, device="npu")
    first = torch.binomial(x * 100, x)
    dropped, _ = torch.native_dropout(torch.ones(64, device="npu"), 0.5, True)
    assert torch.equal(torch.get_rng_state(), before)
    torch.npu.manual_seed(3)
    assert torch.equal(torch.binomial(x * 100, x).cpu(), first.cpu())
    again, _ = torch.native_dropout(torch.ones(64, device="npu"), 0.5, True)
    assert torch.equal(again.cpu(), dropped.cpu())


def test_missing_kernel_names_operator_and_device() -> None:
    with pytest.raises(NotImplementedError, match=r"npu_fallback_test::untouched.*npu:0"):
        ops.untouched(npu(1))


def test_tensors_of_cpu_and_npu_do_not_mix() -> None:
    message = "Expected all tensors to be on the same device"
    with pytest.raises(RuntimeError, match=message):
        torch.heaviside(npu(1, 2), torch.ones(2))
    with pytest.raises(RuntimeError, match=message):
        torch.linalg.lstsq(torch.ones(2, 2), torch.ones(2, 2, device="npu"))
    with pytest.raises(RuntimeError, match=message):
        torch.heaviside(torch.ones(2), npu(1, 2), out=torch.empty(2))


def test_cpu_scalar_tensor_mixes_with_npu_tensors() -> None:
    assert torch.heaviside(npu(-1, 0, 1), torch.tensor(0.5)).cpu().tolist() == [0, 0.5, 1]


def test_cpu_index_is_taken() -> None:
    x = torch.arange(4.0, device="npu")
    assert x[torch.tensor([1, 3])].cpu().tolist() == [1, 3]
    x[torch.tensor([0])] = 9
    assert x.cpu().tolist() == [9, 1, 2, 3]


def test_count_grows_with_each_call() -> None:
    before = count("npu_fallback_test::add_one")
    ops.add_one(npu(1))
    ops.add_one(npu(1))
    assert count("npu_fallback_test::add_one") == before + 2


def test_counts_given_out_are_a_copy() -> None:
    ops.add_one(npu(1))
    torch_npu._C._npu_fallbackCounts().clear()
    assert count("npu_fallback_test::add_one") > 0


@pytest.mark.parametrize("name", ["linear", "matmul", "dropout", "layer_norm", "einsum"])
def test_composite_operators_decompose(name: str) -> None:
    x = torch.ones(2, 3, 3, device="npu")
    before = count(f"aten::{name}")
    {
        "linear": lambda: torch.nn.functional.linear(x, x[0]),
        "matmul": lambda: torch.matmul(x, x),
        "dropout": lambda: torch.dropout(x, 0.5, False),
        "layer_norm": lambda: torch.nn.functional.layer_norm(x, (3,)),
        "einsum": lambda: torch.einsum("bij,bjk->bik", x, x),
    }[name]()
    assert count(f"aten::{name}") == before


LONG_TAIL: dict[str, Callable[[torch.Tensor], object]] = {
    "unique": lambda x: torch.unique(x, return_inverse=True, return_counts=True),
    "svd": lambda x: torch.linalg.svdvals(x),
    "solve": lambda x: torch.linalg.solve(x @ x.mT + torch.eye(4, device=x.device), x),
    "fft": lambda x: torch.fft.fft2(x),
    "cummax": lambda x: torch.cummax(x, 1),
    "kthvalue": lambda x: torch.kthvalue(x, 2),
    "histc": lambda x: torch.histc(x, 4, -1, 1),
    "bincount": lambda x: torch.bincount(x.abs().long().flatten()),
    "bucketize": lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0], device=x.device)),
    "nonzero": lambda x: torch.nonzero(x > 0),
    "masked_select": lambda x: torch.masked_select(x, x > 0),
    "renorm": lambda x: torch.renorm(x, 2, 0, 1.0),
    "lu": lambda x: torch.linalg.lu_factor(x),
    "median": lambda x: x.median(),
    "cdist": lambda x: torch.cdist(x, x),
    "grid_sample": lambda x: torch.nn.functional.grid_sample(
        x.view(1, 1, 4, 4), torch.zeros(1, 2, 2, 2, device=x.device), align_corners=False
    ),
    "tril_indices": lambda x: torch.tril_indices(3, 3, device=x.device),
    "to_sparse": lambda x: x.relu().to_sparse().to_dense(),
    "sparse_product": lambda x: torch.sparse.mm(x.relu().to_sparse(), x),
    "coalesce": lambda x: (x.relu().to_sparse() + x.relu().to_sparse()).coalesce().to_dense(),
    "to_sparse_csr": lambda x: x.relu().to_sparse_csr().to_dense(),
    "quantize": lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize(),
    "quantize_per_channel": lambda x: torch.quantize_per_channel(
        x,
        torch.full((4,), 0.1, device=x.device),
        torch.zeros(4, dtype=torch.int64, device=x.device),
        0,
        torch.qint8,
    ).dequantize(),
    "nested": lambda x: torch.nested.to_padded_tensor(
        torch.nested.nested_tensor([x[:2], x[:3]]), 0.0
    ),
}


def flat(result: object) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else list(result)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", LONG_TAIL)
def test_long_tail_matches_the_cpu(name: str) -> None:
    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(0))
    there = flat(LONG_TAIL[name](x.to("npu")))
    here = flat(LONG_TAIL[name](x))
    for npu_result, cpu_result in zip(there, here, strict=True):
        assert npu_result.device.type == "npu"
        torch.testing.assert_close(npu_result.cpu(), cpu_result)


def test_gradient_flows_through_a_fallback() -> None:
    x = torch.arange(1.0, 5.0).reshape(2, 2)
    leaf = x.to("npu").requires_grad_()
    torch.linalg.det(leaf).backward()
    expected = x.clone().requires_grad_()
    torch.linalg.det(expected).backward()
    assert leaf.grad is not None
    torch.testing.assert_close(leaf.grad.cpu(), expected.grad)


def test_cpu_autocast_does_not_reach_into_a_fallback() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = torch.linalg.solve(torch.eye(2, device="npu"), torch.eye(2, device="npu"))
    assert result.dtype == torch.float32


RunPython = Callable[..., subprocess.CompletedProcess[str]]
TWICE = """
import torch, torch_npu
lib = torch.library.Library("npu_log_test", "DEF")
lib.define("double(Tensor x) -> Tensor")
lib.impl("double", lambda x: x * 2, "CPU")
x = torch.ones(4).npu()
for _ in range(2):
    torch.ops.npu_log_test.double(x)
"""


def test_log_names_the_operator_once_on_request(run_python: RunPython) -> None:
    result = run_python(TWICE, TORCH_NPU_LOG_FALLBACK="1")
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("npu_log_test::double has no npu kernel") == 1
    assert "npu_log_test::double" not in run_python(TWICE).stderr


COPYING = """
import torch, torch_npu
x = torch.arange(12.0).reshape(3, 4).to("npu")
view = x.t()[1:3]
lib = torch.library.Library("npu_copying_test", "DEF")
lib.define("add_one_(Tensor(a!) x) -> Tensor(a!)")
lib.define("first_row(Tensor(a) x) -> Tensor(a)")
lib.impl("add_one_", lambda x: x.add_(1), "CPU")
lib.impl("first_row", lambda x: x[0], "CPU")
torch.ops.npu_copying_test.add_one_(view)
expected = torch.arange(12.0).reshape(3, 4)
expected[:, 1:3] += 1
assert torch.equal(x.cpu(), expected), x.cpu()
torch.ops.npu_copying_test.first_row(x).fill_(0)
expected[0] = 0
assert torch.equal(x.cpu(), expected), x.cpu()
out = torch.empty(0, device="npu")
torch.histc(x, 4, 0, 12, out=out)
assert torch.equal(out.cpu(), torch.histc(expected, 4, 0, 12))
assert x[1, 1].item() == 6
mean, var = torch.zeros(3).npu(), torch.ones(3).npu()
torch.nn.functional.batch_norm(torch.ones(2, 3, 4).npu(), mean, var, training=True, momentum=0.5)
assert torch.allclose(mean.cpu(), torch.full((3,), 0.5))
print("copied")
"""


def test_without_a_host_view_arguments_are_copied(run_python: RunPython) -> None:
    result = run_python(COPYING, SOFTNPU_HOST_VIEW="0")
    assert result.returncode == 0, result.stderr
    assert "copied" in result.stdout


def test_nonsense_in_the_host_view_setting_is_named(run_python: RunPython) -> None:
    result = run_python(TWICE, SOFTNPU_HOST_VIEW="maybe")
    assert result.returncode != 0
    assert "SOFTNPU_HOST_VIEW" in result.stderr
    assert "'maybe'" in result.stderr
