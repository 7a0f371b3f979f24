"""Captured graphs are not there yet, and say so."""

from __future__ import annotations

import pytest
import torch

import torch_npu

npu = torch.npu


@pytest.mark.covers("torch_npu.npu.is_current_stream_capturing")
def test_no_stream_is_capturing() -> None:
    assert npu.is_current_stream_capturing() is False


@pytest.mark.parametrize(
    "call",
    [
        lambda: npu.NPUGraph(),
        lambda: npu.graph(None),
        lambda: npu.graph_pool_handle(),
        lambda: torch_npu._C._NPUTaskGroupHandle(),
        lambda: npu.make_graphed_callables(None, None),
        lambda: npu.graph_task_group_begin(None),
        lambda: npu.graph_task_group_end(None),
        lambda: npu.graph_task_update_begin(None, None),
        lambda: npu.graph_task_update_end(None),
    ],
)
def test_capture_says_what_to_do_instead(call) -> None:
    with pytest.raises(NotImplementedError, match="eagerly"):
        call()
