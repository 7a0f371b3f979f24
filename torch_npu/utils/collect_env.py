"""What is installed: versions of PyTorch, of this package and of CANN, and the devices."""

from __future__ import annotations

import glob
import os
import platform

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


def get_env_info() -> dict[str, str]:
    """The environment as names and values, for a bug report. Starts no device."""
    import torch

    import torch_npu
    from torch_npu._init.core.embedded_cann import MARK_VARIABLE

    return {
        "PyTorch": torch.__version__,
        "torch_npu": __version__,
        "CANN": get_cann_version(),
        "CANN home": os.environ.get("ASCEND_HOME_PATH", "not set"),
        "CANN is the embedded softcann": str(MARK_VARIABLE in os.environ),
        "npu devices": str(torch_npu.npu.device_count()),
        "Python": platform.python_version(),
        "System": platform.platform(),
    }


def get_pretty_env_info() -> str:
    """`get_env_info()` as lines."""
    return "\n".join(f"{name}: {value}" for name, value in get_env_info().items())


def main() -> None:
    """Prints the report: `python -m torch_npu.utils.collect_env`."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
