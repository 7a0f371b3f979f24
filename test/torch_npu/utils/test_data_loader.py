"""PyTorch's DataLoader feeding `npu`: workers, pinned memory and asynchronous copies."""

from __future__ import annotations

import os
import warnings

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

ROWS = 40


class Rows(Dataset):
    """Row i is four times i, with the worker's process and whether it could use a device."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> dict[str, object]:
        return {
            "row": torch.full((4,), float(index)),
            "process": os.getpid(),
            "bad_fork": torch.npu._is_in_bad_fork(),
        }


@pytest.fixture(autouse=True)
def device_in_use() -> None:
    torch.ones(1, device="npu")


@pytest.mark.parametrize("workers", [0, 2])
def test_pinned_batches_reach_the_device(workers: int) -> None:
    loader = DataLoader(Rows(), batch_size=8, num_workers=workers, pin_memory=True)
    total = torch.zeros(4, device="npu")
    processes: set[int] = set()
    for batch in loader:
        assert batch["row"].is_pinned()
        total += batch["row"].to("npu", non_blocking=True).sum(0)
        processes |= set(batch["process"].tolist())
        # A forked worker has no device, and needs none.
        assert batch["bad_fork"].all().item() == (workers > 0)
    assert torch.equal(total.cpu(), torch.full((4,), float(sum(range(ROWS)))))
    assert (os.getpid() in processes) == (workers == 0)


def test_pin_memory_device_may_be_named() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch deprecates the argument and goes on to accept it
        loader = DataLoader(Rows(), batch_size=8, pin_memory=True, pin_memory_device="npu")
        batches = list(loader)
    assert all(batch["row"].is_pinned() for batch in batches)


def test_workers_may_be_spawned_and_stay() -> None:
    loader = DataLoader(
        torch.utils.data.TensorDataset(torch.arange(10.0)),
        batch_size=5,
        num_workers=1,
        pin_memory=True,
        persistent_workers=True,
        multiprocessing_context="spawn",
    )
    for _ in range(2):
        batches = [batch.to("npu") for (batch,) in loader]
        assert torch.cat(batches).sum().item() == 45


def test_failure_in_a_worker_reaches_the_program() -> None:
    class Broken(Rows):
        def __getitem__(self, index: int) -> dict[str, object]:
            raise ValueError(f"row {index} is broken")

    with pytest.raises(ValueError, match="row 0 is broken"):
        next(iter(DataLoader(Broken(), num_workers=1, pin_memory=True)))


def test_shuffling_with_workers_follows_the_seed() -> None:
    def order() -> list[float]:
        torch.manual_seed(3)
        loader = DataLoader(Rows(), shuffle=True, num_workers=2, pin_memory=True)
        return [batch["row"][0, 0].item() for batch in loader]

    assert order() == order() != [float(index) for index in range(ROWS)]
