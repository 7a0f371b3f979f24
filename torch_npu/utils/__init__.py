"""Utilities of `torch_npu`: error codes, versions of CANN and a report of the environment."""

from torch_npu.utils.cann_version import get_cann_version

__all__ = ["get_cann_version"]
