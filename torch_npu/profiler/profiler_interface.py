"""What can be profiled."""

from __future__ import annotations

import torch.profiler

__all__ = ["supported_activities"]


class ProfilerActivity:
    """The activities, which are PyTorch's own: either profiler takes them."""

    CPU = torch.profiler.ProfilerActivity.CPU
    NPU = torch.profiler.ProfilerActivity.PrivateUse1


def supported_activities() -> set[torch.profiler.ProfilerActivity]:
    """The operators of the host, and the device's work."""
    return {ProfilerActivity.CPU, ProfilerActivity.NPU}
