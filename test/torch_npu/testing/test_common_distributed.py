"""Helpers of tests with several processes, here with one."""

from __future__ import annotations

import unittest
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from torch_npu.testing import common_distributed


@pytest.mark.covers("torch_npu.testing.common_distributed.skipIfUnsupportMultiNPU")
def test_a_test_needs_devices() -> None:
    decorated = common_distributed.skipIfUnsupportMultiNPU(2)(lambda self: "ran")
    assert decorated(None) == "ran"
    with pytest.raises(unittest.SkipTest, match="1000 npu devices"):
        common_distributed.skipIfUnsupportMultiNPU(1000)(lambda self: None)(None)


@pytest.mark.covers("torch_npu.testing.common_distributed.TestSkip")
def test_skips_have_a_code_and_a_message() -> None:
    skip = common_distributed.TestSkip(75, "why")
    assert (skip.exit_code, skip.message) == (75, "why")
    assert common_distributed.TEST_SKIPS["multi-npu-8"].exit_code == 75


@pytest.mark.covers("torch_npu.testing.common_distributed.init_pg")
def test_a_group_is_made_over_a_file(tmp_path: Path) -> None:
    common_distributed.init_pg("gloo", 1, 0, f"file://{tmp_path / 'store'}")
    try:
        assert dist.get_backend() == "gloo"
        tensor = torch.ones(2)
        dist.all_reduce(tensor)
        assert tensor.tolist() == [1, 1]
    finally:
        dist.destroy_process_group()


def test_a_group_that_cannot_be_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Backend mpi not supported"):
        common_distributed.init_pg("mpi")
    with pytest.raises(RuntimeError, match="1000 processes"):
        common_distributed.init_pg("hccl", 1000)
    assert not dist.is_initialized()


class Group:
    world_size, rank = 1, 0

    def __init__(self, path: Path) -> None:
        self.file_name = str(path)
        self.destroyed = False

    def destroy_pg(self) -> None:
        dist.destroy_process_group()
        self.destroyed = True


@pytest.mark.covers("torch_npu.testing.common_distributed.with_comms")
@pytest.mark.parametrize("fail", [False, True])
@pytest.mark.covers("torch_npu.testing.common_distributed.with_comms")
def test_a_method_runs_in_a_group_that_is_destroyed(
    fail: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Gloo, so that one process needs no collectives of hccl.
    monkeypatch.setattr(common_distributed, "_device_count", lambda: 0)

    @common_distributed.with_comms
    def method(self: Any) -> None:
        assert dist.get_world_size() == 1
        assert self.device_type == "cpu"
        if fail:
            raise KeyError

    group = Group(tmp_path / "store")
    if fail:
        with pytest.raises(KeyError):
            method(group)
    else:
        method(group)
    assert group.destroyed
    assert not dist.is_initialized()


def test_a_method_must_be_given() -> None:
    with pytest.raises(RuntimeError, match="None"):
        common_distributed.with_comms(None)
