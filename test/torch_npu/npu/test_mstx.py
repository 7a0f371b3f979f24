"""Marks and ranges of the user's own."""

from __future__ import annotations

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

mstx = torch.npu.mstx


def _names(recorded: profile) -> set[str]:
    return {event.name for event in recorded.events()}


@pytest.mark.covers(
    "torch_npu.npu.mstx",
    "torch_npu.npu.mstx.mark",
    "torch_npu.npu.mstx.range_start",
    "torch_npu.npu.mstx.range_end",
    "torch_npu.npu.mstx.mstx_range",
    "torch_npu.npu.mstx.annotate",
    "torch_npu.npu.mstx.mstx",
)
def test_marks_and_ranges_appear_in_a_profile() -> None:
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        mstx.mark("a mark")
        first = mstx.range_start("a range", None, "mine")
        with mstx.mstx_range("a block"):
            torch.ones(2) + 1
        mstx.range_end(first, "mine")

        @mstx.annotate("a function")
        def function() -> None: ...

        function()
    assert {"a mark", "mine: a range", "a block", "a function"} <= _names(recorded)


@pytest.mark.covers("torch_npu.npu.mstx.range_push", "torch_npu.npu.mstx.range_pop")
def test_pushed_ranges_count_their_depth() -> None:
    assert mstx.range_pop() == -1
    assert mstx.range_push("outer") == 0
    assert mstx.range_push("inner") == 1
    assert mstx.range_push("apart", domain="other") == 0
    assert mstx.range_pop() == 1
    assert mstx.range_pop() == 0
    assert mstx.range_pop("other") == 0
    assert mstx.range_pop() == -1


def test_ids_differ_and_end_once() -> None:
    first, second = mstx.range_start("one"), mstx.range_start("two")
    assert first != second
    mstx.range_end(first)
    with pytest.raises(ValueError, match=f"id {first} is open in the domain 'default'"):
        mstx.range_end(first)
    with pytest.raises(ValueError, match="domain 'other'"):
        mstx.range_end(second, "other")
    mstx.range_end(second)


def test_block_ends_after_an_error() -> None:
    with pytest.raises(KeyError), mstx.mstx_range("block"):
        raise KeyError
    assert mstx.range_pop() == -1


def test_message_must_be_text() -> None:
    with pytest.raises(TypeError, match="message"):
        mstx.mark(1)


def test_class_of_the_same_name_has_the_same_functions() -> None:
    assert mstx.mstx.mark is mstx.mark
