"""What the tests of calls share. They run with any torch_npu, the official one above all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_flatten, tree_map

Same = Callable[..., None]


def to(device: str, value: Any) -> Any:
    """Trees of tensors, moved."""
    return tree_map(lambda x: x.to(device) if isinstance(x, torch.Tensor) else x, value)


@pytest.fixture
def same() -> Same:
    """Makes a call on npu and on the CPU with the same arguments, and compares what comes back.

    The call may change its arguments: it gets copies.
    """

    def run(call: Callable[..., Any], *arguments: Any, **tolerance: float) -> None:
        results = []
        for device in ("cpu", "npu"):
            copies = tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, arguments)
            results.append(tree_flatten(call(*to(device, copies)))[0])
        for want, got in zip(*results, strict=True):
            if isinstance(want, torch.Tensor):
                assert got.device.type == "npu"
                torch.testing.assert_close(got.cpu(), want, equal_nan=True, **tolerance)
            else:
                assert got == want

    return run
