"""The methods that registration gives tensors, modules, packed sequences and storages."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn


def test_tensor_moves_and_knows_where_it_is() -> None:
    tensor = torch.arange(3.0)
    assert not tensor.is_npu
    moved = tensor.npu()
    assert moved.is_npu
    assert moved.device == torch.device("npu:0")
    assert moved.npu() is moved
    assert torch.equal(moved.cpu(), tensor)
    assert torch.equal(tensor.npu(non_blocking=True).cpu(), tensor)


def test_integer_device_is_npu() -> None:
    assert torch.ones(1, device=0).device == torch.device("npu:0")
    assert torch.ones(1).to(0).is_npu


def test_module_moves() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    assert module.npu() is module
    assert all(tensor.is_npu for tensor in module.state_dict().values())
    assert not any(tensor.is_npu for tensor in module.cpu().state_dict().values())


def test_module_on_npu_accepts_share_memory() -> None:
    module = nn.Linear(2, 2).npu()
    assert module.share_memory() is module
    for parameter in module.parameters():
        assert parameter.is_npu
        assert parameter.is_shared()


def test_packed_sequence_moves() -> None:
    packed = nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(1, 2)])
    assert not packed.is_npu
    assert packed.npu().is_npu


def test_storage_moves() -> None:
    storage = torch.arange(4, dtype=torch.uint8).untyped_storage()
    assert not storage.is_npu
    moved = storage.npu()
    assert moved.is_npu
    assert moved.cpu().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("location", ["npu", "npu:0", torch.device("npu", 0), None])
def test_checkpoint_goes_where_it_is_sent(tmp_path: Path, location: object) -> None:
    path = tmp_path / "checkpoint.pt"
    torch.save({"weight": torch.arange(3.0, device="npu")}, path)
    loaded = torch.load(path, map_location=location)["weight"]
    assert loaded.device == torch.device("npu:0")
    assert loaded.tolist() == [0, 1, 2]
    assert torch.load(path, map_location="cpu")["weight"].device.type == "cpu"


def test_checkpoint_for_a_device_that_is_not_there_names_it(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    torch.save(torch.ones(1), path)
    with pytest.raises(RuntimeError, match="99"):
        torch.load(path, map_location="npu:99")


def test_gradient_checkpointing_repeats_dropout() -> None:
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    x = torch.ones(64, device="npu", requires_grad=True)

    def layer(value: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(value, 0.5) * value

    y = checkpoint(layer, x, use_reentrant=False)
    y.sum().backward()
    assert torch.equal(x.grad, 2 * y.detach())
