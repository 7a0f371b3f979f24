"""The versions of the parts of a CANN installation."""

from __future__ import annotations

import os

from torch_npu.utils import collect_env

_MODULES = ("CANN", "RUNTIME", "COMPILER", "HCCL", "TOOLKIT", "OPP", "OPP_KERNEL", "DRIVER")


def get_cann_version(module: str = "CANN") -> str:
    """The version of CANN or of a part of it, such as "RUNTIME"; empty where it is not known.

    The part's is the line `Version=` of its `version.info`. Raises `ValueError` for a part that
    CANN does not have.
    """
    if module not in _MODULES:
        raise ValueError(f"module must be one of {_MODULES}, but got: {module!r}")
    if module == "CANN":
        version = collect_env.get_cann_version()
        return "" if version == collect_env.NOT_KNOWN else version
    home = os.environ.get("ASCEND_HOME_PATH", "")
    return collect_env.version_in(os.path.join(home, module.lower(), "version.info")) or ""
