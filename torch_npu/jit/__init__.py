"""Passes over scripted and traced modules that put in Ascend's own operators."""

from torch_npu.jit.register_fusion_pattern import optimize

__all__ = ["optimize"]
