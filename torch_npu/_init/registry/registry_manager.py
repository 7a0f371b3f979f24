"""Owns the registration of every component, and the check of the CANN installation with it."""

from __future__ import annotations

import os
from typing import NoReturn

from torch_npu._init.registry import backend, distributed
from torch_npu.utils._error_code import ErrCode, pta_error
from torch_npu.utils.collect_env import get_cann_version
from torch_npu.version import __version__

# CANN version -> the versions of torch_npu that it was released with. A CANN that is not listed
# is not judged.
cann_pytorch_version_map = {
    "6.3.RC2": ["1.8.1.post2", "1.11.0.post1", "2.0.0.rc1"],
    "6.3.RC1": ["1.8.1.post1", "1.11.0"],
    "6.1.RC1": ["1.8.1.post1", "1.11.0"],
    "6.0.1": ["1.8.1", "1.11.0.rc2"],
    "6.0.RC1": ["1.8.1", "1.11.0.rc1"],
}


def register_all() -> None:
    """Registers every component, in the order in which one may need the other."""
    _register_npu_backend()
    _register_distributed_backend()
    _register_rpc_backend()
    _register_checkpoint_device_type()


def _register_npu_backend() -> None:
    """Registers the device type and its module, once the CANN installation is found sound."""
    _cann_package_check()
    backend.register()


def _register_distributed_backend() -> None:
    distributed.register_hccl()


def _register_rpc_backend() -> None:
    distributed.register_rpc()


def _register_checkpoint_device_type() -> None:
    """Makes `npu` the device whose random state `torch.utils.checkpoint` saves by default."""
    from torch.utils.checkpoint import DefaultDeviceType

    DefaultDeviceType.set_device_type(backend.DEVICE_TYPE)


def _cann_package_check() -> None:
    """Raises `Exception` for a CANN installation that is configured and incomplete.

    An installation that is not configured at all, and one of a version that this package was not
    released with, are reported on standard output and tolerated.
    """
    home = os.environ.get("ASCEND_HOME_PATH")
    if home is None:
        print("Warning: ASCEND_HOME_PATH environment variable is not set.")
        return
    if not os.path.isdir(home):
        _refuse("ASCEND_HOME_PATH", home, "which does not exist")
    operators = os.environ.get("ASCEND_OPP_PATH")
    if operators is None:
        _refuse("ASCEND_OPP_PATH", None, f"although ASCEND_HOME_PATH is {home}")
    if not os.path.isdir(operators):
        _refuse("ASCEND_OPP_PATH", operators, "which does not exist")
    for part in ("runtime", "compiler"):
        if not os.path.isdir(os.path.join(home, part)):
            _refuse("ASCEND_HOME_PATH", home, f"where {os.path.join(home, part)} does not exist")
    _warn_about_version()


def _refuse(variable: str, path: str | None, reason: str) -> NoReturn:
    state = f"is not set, {reason}" if path is None else f"is {path}, {reason}"
    raise Exception(
        f"{variable} {state}. Install the CANN toolkit and its operators, and run "
        "'source set_env.sh' in the folder where it is installed." + pta_error(ErrCode.NOT_FOUND)
    )


def _warn_about_version() -> None:
    cann_version = get_cann_version()
    released_with = cann_pytorch_version_map.get(cann_version)
    if released_with is not None and __version__ not in released_with:
        print(
            f"Warning: CANN {cann_version} was released with torch_npu "
            f"{', '.join(released_with)}, and this is torch_npu {__version__}."
        )
