import tempfile
from pathlib import Path

import torch
from check import equal

import torch_npu

with tempfile.TemporaryDirectory() as folder:
    with torch_npu.profiler.profile(
        activities=[torch_npu.profiler.ProfilerActivity.CPU],
        on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(folder),
    ) as profiler:
        for _ in range(2):
            x = torch.ones(8, 8, device="npu") @ torch.ones(8, 8, device="npu")
            profiler.step()
    equal(x, torch.full((8, 8), 8.0))
    assert list(Path(folder).iterdir())
