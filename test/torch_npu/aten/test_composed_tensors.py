"""Sparse, compressed, quantized and nested tensors on npu."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import torch_npu  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

VALUES = torch.tensor([[0.0, 1.5, 0.0], [-2.0, 0.0, 3.0]])
OTHER = torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, -1.0]])


def dense(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_nested:
        return torch.nested.to_padded_tensor(tensor.cpu(), -9.0)
    if tensor.is_quantized:
        return tensor.cpu().dequantize()
    return tensor.cpu() if tensor.layout == torch.strided else tensor.cpu().to_dense()


COO: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "coalesce": lambda s: s.coalesce(),
    "add": lambda s: s + s,
    "multiply": lambda s: s * s,
    "scale": lambda s: s * 2,
    "abs": lambda s: s.abs(),
    "sum": lambda s: torch.sparse.sum(s, 0),
    "total": lambda s: s.sum(),
    "transpose": lambda s: s.t(),
    "permute": lambda s: s.permute(1, 0),
    "unsqueeze": lambda s: s.unsqueeze(0),
    "clone": lambda s: s.clone(),
    "zeros_like": lambda s: torch.zeros_like(s),
    "matmul": lambda s: torch.sparse.mm(s, OTHER.to(s.device)),
    "index_select": lambda s: s.index_select(0, torch.tensor([1], device=s.device)),
    "to_csr": lambda s: s.coalesce().to_sparse_csr(),
    "softmax": lambda s: torch.sparse.softmax(s, 1),
    "narrow_copy": lambda s: s.narrow_copy(1, 1, 2),
    "in_place": lambda s: s.clone().mul_(3),
    "values": lambda s: s.coalesce().values(),
    "half": lambda s: s.to(torch.float64),
}
CSR: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "abs": lambda s: s.abs(),
    "scale": lambda s: s * 2,
    "sum": lambda s: s.sum(),
    "clone": lambda s: s.clone(),
    "matmul": lambda s: s @ OTHER.to(s.device),
    "select": lambda s: s[1],
    "crow": lambda s: s.crow_indices(),
    "to_csc": lambda s: s.to_sparse_csc(),
    "zeros_like": lambda s: torch.zeros_like(s),
    "in_place": lambda s: s.clone().mul_(3),
}
QUANTIZED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "dequantize": lambda q: q.dequantize(),
    "integers": lambda q: q.int_repr(),
    "clone": lambda q: q.clone(),
    "view": lambda q: q.view(3, 2),
    "transpose": lambda q: q.t(),
    "slice": lambda q: q[:, 1:].clone(),
    "unsqueeze": lambda q: q.unsqueeze(0),
    "relu": lambda q: q.relu(),
    "max": lambda q: q.max(),
}
NESTED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "scale": lambda n: n * 2,
    "add": lambda n: n + n,
    "clone": lambda n: n.clone(),
    "relu": lambda n: n.relu(),
    "transpose": lambda n: n.transpose(1, 2).contiguous(),
    "unbind": lambda n: n.unbind()[1],
    "softmax": lambda n: n.softmax(-1),
    "linear": lambda n: torch.nn.functional.linear(n, OTHER.t().to(n.device)),
    "detach": lambda n: n.detach(),
    "padded": lambda n: torch.nested.to_padded_tensor(n, 0.0),
}
MAKE: dict[str, Callable[[], torch.Tensor]] = {
    "coo": lambda: VALUES.to_sparse(),
    "csr": lambda: VALUES.to_sparse_csr(),
    "quantized": lambda: torch.quantize_per_tensor(VALUES, 0.5, 1, torch.quint8),
    "per_channel": lambda: torch.quantize_per_channel(
        VALUES, torch.tensor([0.5, 0.25]), torch.tensor([0, 1]), 0, torch.qint8
    ),
    "nested": lambda: torch.nested.nested_tensor([VALUES, VALUES[:1]]),
}
CASES = [
    *[("coo", name, function) for name, function in COO.items()],
    *[("csr", name, function) for name, function in CSR.items()],
    *[("quantized", name, function) for name, function in QUANTIZED.items()],
    *[("nested", name, function) for name, function in NESTED.items()],
]


@pytest.mark.parametrize("kind", MAKE)
def test_round_trip(kind: str) -> None:
    here = MAKE[kind]()
    there = here.to("npu")
    assert there.device.type == "npu"
    back = there.cpu()
    assert (back.device.type, back.layout, back.dtype) == ("cpu", here.layout, here.dtype)
    assert torch.equal(dense(back), dense(here))


@pytest.mark.parametrize(
    ("kind", "function"),
    [(kind, function) for kind, _, function in CASES],
    ids=[f"{kind}-{name}" for kind, name, _ in CASES],
)
def test_operator_matches_the_cpu(
    kind: str, function: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    here = MAKE[kind]()
    expected, result = function(here), function(here.to("npu"))
    assert result.device.type == "npu"
    assert result.layout == expected.layout
    assert result.dtype == expected.dtype
    torch.testing.assert_close(dense(result), dense(expected))


def test_sparse_tensor_from_npu_parts() -> None:
    indices = torch.tensor([[0, 1, 1], [1, 0, 2]]).to("npu")
    sparse = torch.sparse_coo_tensor(indices, torch.tensor([1.5, -2.0, 3.0]).to("npu"), (2, 3))
    assert sparse.device.type == "npu"
    assert torch.equal(sparse.to_dense().cpu(), VALUES)


def test_sparse_values_share_memory() -> None:
    sparse = VALUES.to_sparse().to("npu")
    sparse._values().fill_(1)
    assert sparse.to_dense().sum().item() == 3


def test_sparse_gradient() -> None:
    weight = torch.randn(5, 3).to("npu").requires_grad_()
    index = torch.tensor([1, 1, 4]).to("npu")
    torch.nn.functional.embedding(index, weight, sparse=True).sum().backward()
    assert weight.grad is not None
    assert weight.grad.is_sparse
    assert weight.grad.device.type == "npu"
    assert weight.grad.to_dense().cpu()[:, 0].tolist() == [0, 2, 0, 0, 1]


def test_sparse_optimizer_step() -> None:
    embedding = torch.nn.Embedding(5, 3, sparse=True).to("npu")
    before = embedding.weight.detach().cpu().clone()
    optimizer = torch.optim.SGD(embedding.parameters(), lr=1.0)
    embedding(torch.tensor([1, 1, 4]).to("npu")).sum().backward()
    optimizer.step()
    change = before - embedding.weight.detach().cpu()
    torch.testing.assert_close(change[:, 0], torch.tensor([0.0, 2.0, 0.0, 0.0, 1.0]))


def test_jagged_nested_tensor() -> None:
    parts = [torch.randn(2, 3), torch.randn(4, 3)]
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged, device="npu")
    doubled = nested * 2
    for part, result in zip(parts, doubled.unbind(), strict=True):
        assert torch.equal(result.cpu(), part * 2)
