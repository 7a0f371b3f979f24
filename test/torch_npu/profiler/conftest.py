"""What the tests of the profiler share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch


@pytest.fixture
def work() -> Callable[[], None]:
    """Some work on npu:0, with an operator of the table, a copy each way and a reduction.

    It has run once: an operator's first call may try its kernel, which a profile would show.
    """

    def run() -> None:
        x = torch.ones(64, 64).to("npu")
        (x @ x).sum().cpu()

    run()
    return run
