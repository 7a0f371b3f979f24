"""CANN's operator library, `libopapi.so`."""

from torch_npu.npu.aclnn.backends import version

__all__ = ["version"]
