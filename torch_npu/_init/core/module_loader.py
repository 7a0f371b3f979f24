"""Loads the C++ backend and `torch.npu`, after refusing what cannot work beside them."""

from __future__ import annotations

import importlib
import importlib.metadata
from types import ModuleType
from typing import NoReturn

import torch

# The distribution that Ascend publishes. It owns a folder `torch_npu` too, and pip lets the one
# installed last overwrite files of the other without a word. Ours installs metadata of that name
# as well, for programs that ask for it; they require our distribution.
_OTHER_DISTRIBUTION = "torch-npu"
_OWN_DISTRIBUTION = "softnpu"


def refuse_second_accelerator() -> None:
    """Raises `RuntimeError` where PyTorch already has another usable accelerator, or another
    package's device in the place that ours takes.
    """
    private_name = torch._C._get_privateuse1_backend_name()
    if private_name not in ("privateuseone", "npu"):
        raise RuntimeError(
            f"The device '{private_name}' of another package has taken the one place that PyTorch "
            "has for a device of a package, and 'npu' needs it. To use npu, uninstall that package "
            f"or import torch_npu without it; to use {private_name}, uninstall "
            f"'{_OWN_DISTRIBUTION}'. With both installed, TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps "
            "'import torch' from loading either, so that a program can import the one it wants."
        )
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is None or accelerator.type == "npu":
        return
    raise RuntimeError(
        f"PyTorch already has the accelerator '{accelerator.type}', and it cannot serve 'npu' "
        f"beside it. To use npu, install a CPU build of PyTorch; to use {accelerator.type}, set "
        "TORCH_DEVICE_BACKEND_AUTOLOAD=0 and do not import torch_npu."
    )


def refuse_second_distribution() -> None:
    """Raises `RuntimeError` where Ascend's own `torch-npu` is installed in this environment."""
    for other in importlib.metadata.distributions(name=_OTHER_DISTRIBUTION):
        if not _is_own(other):
            _refuse_distribution(other.version)


def _is_own(distribution: importlib.metadata.Distribution) -> bool:
    return any(
        requirement.startswith(f"{_OWN_DISTRIBUTION}==")
        for requirement in distribution.requires or ()
    )


def _refuse_distribution(version: str) -> NoReturn:
    raise RuntimeError(
        f"The distribution '{_OTHER_DISTRIBUTION}' {version} is installed beside "
        f"'{_OWN_DISTRIBUTION}', and both own the folder 'torch_npu'. Run "
        f"'pip uninstall -y {_OWN_DISTRIBUTION} {_OTHER_DISTRIBUTION}' and then install the one "
        "that you want, or give each an environment of its own."
    )


def load_core_modules() -> ModuleType:
    """Loads the C++ backend, which registers its operators, and returns it.

    Raises `ImportError` with the remedy where the extension is missing or was built against
    another PyTorch.
    """
    try:
        return importlib.import_module("torch_npu._C")
    except ModuleNotFoundError as error:
        if error.name != "torch_npu._C":
            raise
        raise ImportError(
            "torch_npu._C, the compiled part of torch_npu, is not there. Install the package "
            f"'{_OWN_DISTRIBUTION}', or build it in a source checkout with 'make build'."
        ) from error
    except ImportError as error:
        raise ImportError(
            f"torch_npu._C cannot be loaded: {error}. It needs the libraries that it was "
            "installed with and the PyTorch that it was built against; this one is "
            f"{torch.__version__}."
        ) from error
