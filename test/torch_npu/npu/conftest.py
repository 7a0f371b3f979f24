from __future__ import annotations

import gc

import pytest
import torch


@pytest.fixture
def empty_allocator() -> None:
    """The current device's caching allocator holds nothing but what live tensors take."""
    torch.npu.init()
    gc.collect()
    torch.npu.synchronize()
    torch.npu.empty_cache()
