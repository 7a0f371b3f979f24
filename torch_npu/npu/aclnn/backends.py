"""What is known about CANN's operator library."""

from __future__ import annotations

import warnings


def version() -> None:
    """`None`, with a warning: the operator library has no version of its own."""
    warnings.warn(
        "torch.npu.aclnn.version() is None: the operator library has no version of its own. Use "
        "torch_npu.utils.get_cann_version('OPP').",
        stacklevel=2,
    )
