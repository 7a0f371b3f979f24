"""What is installed: versions of PyTorch, of this package and of CANN, and the devices."""

from __future__ import annotations

import glob
import os
from typing import Any, NamedTuple

from torch_npu.version import __version__

NOT_KNOWN = "not known"

# The packages that a CANN may be installed from, the most complete first.
_PACKAGE_ORDER = ("toolkit", "nnae", "nnrt")


def get_cann_version() -> str:
    """The version of the CANN at `ASCEND_HOME_PATH`, such as "8.5.0".

    It is the line `version=` of a file `ascend_*_install.info` in that folder or in its folder
    for an architecture, such as `x86_64-linux`. "not known" where there is none.
    """
    home = os.environ.get("ASCEND_HOME_PATH")
    if not home:
        return NOT_KNOWN
    escaped = glob.escape(home)
    found = glob.glob(os.path.join(escaped, "ascend_*_install.info"))
    found += glob.glob(os.path.join(escaped, "*-linux", "ascend_*_install.info"))
    for path in sorted(found, key=_preference):
        version = version_in(path)
        if version:
            return version
    return NOT_KNOWN


def _preference(path: str) -> tuple[int, str]:
    package = os.path.basename(path).removeprefix("ascend_").removesuffix("_install.info")
    place = _PACKAGE_ORDER.index(package) if package in _PACKAGE_ORDER else len(_PACKAGE_ORDER)
    return place, path


def version_in(path: str) -> str | None:
    """The line `version=` of a file that describes an installed package; `None` without one."""
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                key, _, value = line.partition("=")
                if key.strip().lower() == "version":
                    return value.strip()
    except OSError:
        pass
    return None


def get_torch_npu_version() -> str:
    """The version of this package."""
    return __version__


def get_torch_npu_install_path() -> str:
    """The folder of this package."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class SystemEnv(NamedTuple):
    """What a bug report should say; `None` for what could not be found out."""

    torch_version: str
    torch_npu_version: str
    is_debug_build: str
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    os: str | None
    libc_version: str | None
    python_version: str
    python_platform: str
    pip_version: str | None
    pip_packages: str | None
    conda_packages: str | None
    caching_allocator_config: str
    is_xnnpack_available: str
    cpu_info: str | None
    cann_version: str


def get_env_info() -> SystemEnv:
    """The environment, for a bug report. Runs the compilers and pip; starts no device."""
    from torch.utils import collect_env

    theirs = collect_env.get_env_info()._asdict()
    ours = {
        "torch_npu_version": __version__,
        "caching_allocator_config": os.environ.get("PYTORCH_NPU_ALLOC_CONF", ""),
        "cann_version": get_cann_version(),
    }
    fields = {name: theirs[name] for name in SystemEnv._fields if name not in ours}
    return SystemEnv(**{name: _text(value) for name, value in fields.items()}, **ours)


def _text(value: Any) -> Any:
    # Packages come as lists, and flags as their words.
    return "\n".join(value) if isinstance(value, list | tuple) else value


def pretty_str(envinfo: SystemEnv) -> str:
    """The environment as lines, with where its CANN is and how many devices there are."""
    import torch_npu
    from torch_npu._init.core.embedded_cann import MARK_VARIABLE

    lines = {
        "PyTorch": envinfo.torch_version,
        "torch_npu": envinfo.torch_npu_version,
        "CANN": envinfo.cann_version,
        "CANN home": os.environ.get("ASCEND_HOME_PATH", "not set"),
        "CANN is the embedded softcann": str(MARK_VARIABLE in os.environ),
        "npu devices": str(torch_npu.npu.device_count()),
        "Allocator settings": envinfo.caching_allocator_config or "none",
        "Python": f"{envinfo.python_version} ({envinfo.python_platform})",
        "System": envinfo.os,
        "libc": envinfo.libc_version,
        "GCC": envinfo.gcc_version,
        "Clang": envinfo.clang_version,
        "CMake": envinfo.cmake_version,
        "Debug build": envinfo.is_debug_build,
        "XNNPACK": envinfo.is_xnnpack_available,
        "Packages": envinfo.pip_packages,
        "Conda packages": envinfo.conda_packages,
        "CPU": envinfo.cpu_info,
    }
    return "\n".join(
        f"{name}: {value if value is not None else NOT_KNOWN}" for name, value in lines.items()
    )


def get_pretty_env_info() -> str:
    """`get_env_info()` as lines."""
    return pretty_str(get_env_info())


def check_path_owner_consistent(path: str) -> None:
    """Raises `RuntimeError` unless `path` exists and is this user's; root may use any."""
    if not os.path.exists(path):
        raise RuntimeError(f"the path does not exist: {path}")
    owner = os.stat(path).st_uid
    if os.geteuid() not in (0, owner):
        raise RuntimeError(f"the path is owned by user {owner}, not by this one: {path}")


def check_directory_path_readable(path: str) -> None:
    """Raises `RuntimeError` unless `path` is this user's, no symbolic link, and readable."""
    check_path_owner_consistent(path)
    if os.path.islink(path):
        raise RuntimeError(f"the path is a symbolic link: {path}")
    if not os.access(path, os.R_OK):
        raise RuntimeError(f"the path cannot be read: {path}")


def main() -> None:
    """Prints the report: `python -m torch_npu.utils.collect_env`."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
