"""Mixed precision on `npu`: `torch.amp` with the device type filled in."""

from torch_npu.npu.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from torch_npu.npu.amp.common import amp_definitely_not_available
from torch_npu.npu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]
