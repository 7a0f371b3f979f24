"""Views share memory with their base and write through to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import torch_npu  # noqa: F401

VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "view": lambda t: t.view(6, 4),
    "reshape": lambda t: t.reshape(4, 6),
    "transpose": lambda t: t.transpose(0, 2),
    "permute": lambda t: t.permute(2, 0, 1),
    "select": lambda t: t[1],
    "slice": lambda t: t[:, ::2],
    "narrow": lambda t: t.narrow(2, 1, 2),
    "unfold": lambda t: t.unfold(2, 2, 1),
    "diagonal": lambda t: t.diagonal(dim1=1, dim2=2),
    "expand": lambda t: t[:, :1].expand(2, 5, 4),
    "as_strided": lambda t: t.as_strided((2, 2), (5, 3), 1),
    "split": lambda t: t.split(2, dim=2)[1],
    "unbind": lambda t: t.unbind(1)[2],
    "unsqueeze": lambda t: t.unsqueeze(1),
    "squeeze": lambda t: t[:, :1].squeeze(1),
    "detach": lambda t: t.detach(),
    "view_dtype": lambda t: t.view(torch.int32),
    "view_as_complex": lambda t: torch.view_as_complex(t.view(2, 3, 2, 2)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_view_matches_cpu_and_shares_memory(name: str) -> None:
    base = torch.arange(24.0).reshape(2, 3, 4)
    npu_base = base.to("npu")
    view, npu_view = VIEWS[name](base), VIEWS[name](npu_base)
    assert npu_view.stride() == view.stride()
    assert npu_view.storage_offset() == view.storage_offset()
    assert npu_view.untyped_storage().data_ptr() == npu_base.untyped_storage().data_ptr()
    assert torch.equal(npu_view.cpu(), view)


def test_writing_a_view_changes_its_base() -> None:
    base = torch.zeros(3, 3, device="npu")
    base.t()[0].fill_(5)
    assert base.cpu()[:, 0].tolist() == [5, 5, 5]


def test_view_as_real_shares_memory() -> None:
    value = torch.tensor([1 + 2j, 3 - 4j]).to("npu")
    real = torch.view_as_real(value)
    assert real.cpu().tolist() == [[1, 2], [3, -4]]
    real[0, 0] = 9
    assert value.cpu()[0] == 9 + 2j


def test_view_of_incompatible_size_raises() -> None:
    with pytest.raises(RuntimeError, match="invalid for input of size"):
        torch.zeros(6, device="npu").view(4, 2)


def test_gradient_flows_through_views() -> None:
    leaf = torch.arange(6.0, device="npu", requires_grad=True)
    leaf.view(2, 3).t()[1].sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.cpu().tolist() == [0, 1, 0, 0, 1, 0]


def test_inplace_on_a_view_is_seen_by_autograd() -> None:
    leaf = torch.ones(4, device="npu", requires_grad=True)
    base = leaf * 2
    base[1:3].mul_(10)
    base.sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.cpu().tolist() == [2, 20, 20, 2]
