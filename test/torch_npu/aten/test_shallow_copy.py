"""A tensor takes over another's content and stays itself, as moving a module does."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn


def test_moving_a_module_keeps_its_parameters_and_their_gradients() -> None:
    model = nn.Linear(3, 2)
    model(torch.ones(1, 3)).sum().backward()
    weight, gradient = model.weight, model.weight.grad
    for device in ("npu", "cpu", "npu:1"):
        model.to(device)
        assert model.weight is weight
        assert model.weight.grad is gradient
        assert weight.device.type == gradient.device.type == torch.device(device).type
        torch.testing.assert_close(gradient.cpu(), torch.ones(2, 3))


def test_tied_weights_stay_tied() -> None:
    model = nn.ModuleDict({"embedding": nn.Embedding(5, 3), "head": nn.Linear(3, 5, bias=False)})
    model["head"].weight = model["embedding"].weight
    other = copy.deepcopy(model).npu()
    assert other["head"].weight is other["embedding"].weight
    tokens = torch.tensor([0, 3])
    model["head"](model["embedding"](tokens)).square().sum().backward()
    other["head"](other["embedding"](tokens.npu())).square().sum().backward()
    torch.testing.assert_close(other["embedding"].weight.grad.cpu(), model["embedding"].weight.grad)


def test_an_optimizer_made_before_the_move_trains_what_was_moved() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    before = model.weight.detach().clone()
    model.npu()
    model(torch.ones(1, 3, device="npu")).sum().backward()
    optimizer.step()
    torch.testing.assert_close(model.weight.cpu(), before - 1)


def test_data_is_set_across_devices() -> None:
    tensor = torch.zeros(2)
    alias = tensor
    tensor.data = torch.tensor([[1.0], [2.0], [3.0]], device="npu").t()
    assert alias.device.type == "npu"
    assert alias.tolist() == [[1.0, 2.0, 3.0]]
    tensor.data = torch.empty(0, dtype=torch.int64)
    assert alias.device.type == "cpu"
    assert alias.dtype == torch.int64


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_sparse_tensors_exchange_data_on_one_device_only(device: str) -> None:
    sparse = torch.eye(3).to_sparse().to(device)
    sparse.data = (2 * torch.eye(3)).to_sparse().to(device)
    torch.testing.assert_close(sparse.to_dense().cpu(), 2 * torch.eye(3))
    others = {torch.ones(3), torch.ones(3, device="npu")}
    others.add(sparse.to("cpu" if device == "npu" else "npu"))
    for other in others:
        with pytest.raises(RuntimeError, match="incompatible tensor type"):
            sparse.data = other
        with pytest.raises(RuntimeError, match="incompatible tensor type"):
            other.data = sparse


def test_nothing_is_compatible_with_a_tensor_without_memory() -> None:
    meta = torch.empty(2, device="meta")
    assert not torch._has_compatible_shallow_copy_type(torch.ones(2, device="npu"), meta)
    assert not torch._has_compatible_shallow_copy_type(meta, torch.ones(2, device="npu"))
