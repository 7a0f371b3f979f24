"""Runs a program written for `cuda` on `npu`, unchanged but for one line at its start::

    import torch_npu.contrib.transfer_to_npu

From then on, in the whole process:

- `torch.cuda` and its modules `amp`, `graphs`, `memory`, `random` and `streams` have the functions
  and classes of `torch.npu`; `torch.cuda.nvtx` marks ranges through `torch.npu.mstx`. What
  `torch.npu` does not have stays PyTorch's own.
- the device "cuda", with or without an index, means "npu" wherever a string or `torch.device` is
  given: `torch.device`, `torch.Generator`, factories, `.to()`, `.cuda()`, autocast, gradient
  scalers, `torch.load` and its files, `DataLoader`, device meshes; `is_cuda` is true for `npu`.
- the collective backend "nccl" means "hccl".

What it cannot reach: names that a module took out of PyTorch before (`from torch import ones`), so
import it first; comparisons such as `x.device.type == "cuda"`; code compiled by TorchScript that
names a device. The patches are registered with `PatchManager` under the group "transfer_to_npu",
and importing this module again applies none of them twice.
"""

from __future__ import annotations

from torch_npu._init.patches.patch_manager import PatchManager
from torch_npu.contrib.transfer_to_npu import (  # noqa: F401 (they register on import)
    components,
    cuda_module,
    tensors,
)
from torch_npu.contrib.transfer_to_npu.renaming import GROUP

PatchManager.apply(GROUP)
