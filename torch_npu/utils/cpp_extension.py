"""Building C++ extensions that use an `npu` or CANN's functions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import setuptools
from torch.utils import cpp_extension

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def NpuExtension(  # noqa: N802
    name: str, sources: Sequence[str], *args: Any, **kwargs: Any
) -> setuptools.Extension:
    """A `setuptools.Extension` that finds the headers and libraries of PyTorch, CANN and ours.

    It is compiled by `torch.utils.cpp_extension.BuildExtension`. Headers are included as
    `torch_npu/csrc/…` and `acl/acl.h`. Other arguments are those of `setuptools.Extension`.
    """
    home = os.environ.get("ASCEND_HOME_PATH", "")
    includes = [os.path.dirname(_PACKAGE), os.path.join(home, "include")]
    kwargs["include_dirs"] = [
        *kwargs.get("include_dirs", []),
        *includes,
        *cpp_extension.include_paths(),
    ]
    library = os.path.join(_PACKAGE, "lib")
    kwargs["library_dirs"] = [
        *kwargs.get("library_dirs", []),
        library,
        *cpp_extension.library_paths(),
    ]
    kwargs["runtime_library_dirs"] = [*kwargs.get("runtime_library_dirs", []), library]
    kwargs["libraries"] = [
        *kwargs.get("libraries", []),
        *("c10", "torch", "torch_cpu", "torch_python", "torch_npu"),
    ]
    # torch_npu's headers are C++20.
    kwargs["extra_compile_args"] = ["-std=c++20", *kwargs.get("extra_compile_args", [])]
    kwargs["language"] = "c++"
    return setuptools.Extension(name, list(sources), *args, **kwargs)
