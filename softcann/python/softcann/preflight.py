"""What `softcann run` looks at before it starts a program that may use the official torch_npu."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

from softcann import toolkit_path
from softcann.elf import ElfError, read_symbols

# What the official wheel's libraries take from a CANN.
_CANN_SYMBOL = re.compile(r"^(acl[a-z]*[A-Z]|rt[A-Z]|Msprof|Hccl)\w+$")
_WHEEL_LIBRARIES = ("libtorch_npu.so", "libtensorpipe.so")
# Where Ascend's driver shows: a file for each card, and its own libraries.
_DEVICES = Path("/dev")
_DRIVER = Path("/usr/local/Ascend/driver")


def obstacles() -> list[str]:
    """Why a program would fail, each with what to do; empty if nothing is known."""
    return [*_missing_libraries(), *_two_packages(), *_official_wheel()]


def remarks() -> list[str]:
    """What a user may not expect and is no obstacle."""
    return [*_drivers(), *_other_canns()]


def coverage() -> dict[str, object]:
    """The toolkit's list of libraries, of functions that refuse and of aclnn functions."""
    found: dict[str, object] = json.loads((toolkit_path() / "coverage.json").read_text())
    return found


def _missing_libraries() -> Iterator[str]:
    folder = toolkit_path() / "lib64"
    libraries = coverage()["libraries"]
    assert isinstance(libraries, list)
    missing = [name for name in libraries if not (folder / name).exists()]
    if missing:
        yield (
            f"{folder} lacks {', '.join(missing)}: install the softcann wheel again, or run"
            " `make` in a source checkout"
        )


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def official_package() -> Distribution | None:
    """Ascend's `torch-npu`; softnpu installs metadata of that name too, which requires softnpu."""
    for found in distributions(name="torch-npu"):
        if not any(requirement.startswith("softnpu==") for requirement in found.requires or ()):
            return found
    return None


def _two_packages() -> Iterator[str]:
    if official_package() and _installed("softnpu"):
        yield (
            "the packages torch-npu and softnpu both own the folder torch_npu:"
            " pip uninstall softnpu torch-npu, then install one again"
        )


def _official_wheel() -> Iterator[str]:
    package = official_package()
    if package is None:
        return
    wanted = served_torch()
    if wanted and package.version.partition("+")[0].split(".post")[0] != wanted:
        yield (
            f"torch-npu {package.version} is installed, and this softcann serves {wanted}:"
            f" pip install torch-npu=={wanted} torch=={wanted}"
        )
        return
    lacking = missing_symbols(Path(str(package.locate_file("torch_npu"))) / "lib")
    if lacking:
        yield (
            f"torch-npu {package.version} needs functions that softcann lacks:"
            f" {', '.join(sorted(lacking))}; look for a newer softcann"
        )


def served_torch() -> str:
    """The torch that softcann is built for, and so the torch-npu that it serves.

    Empty where softcann is used without being installed.
    """
    package = _installed("softcann")
    pins = (package.requires or []) if package else []
    return next((pin.partition("==")[2] for pin in pins if pin.startswith("torch==")), "")


def missing_symbols(folder: Path) -> set[str]:
    """The CANN functions that the wheel's libraries in `folder` link to and softcann lacks."""
    needed: set[str] = set()
    for name in _WHEEL_LIBRARIES:
        path = folder / name
        if path.exists():
            needed |= {s for s in read_symbols(path).undefined if _CANN_SYMBOL.match(s)}
    for path in (toolkit_path() / "lib64").glob("*.so"):
        if not needed:
            break
        try:
            needed -= read_symbols(path).defined
        except ElfError:
            continue
    return needed


def _drivers() -> Iterator[str]:
    cards = list(_DEVICES.glob("davinci[0-9]*"))
    if cards:
        yield f"{len(cards)} Ascend card(s) in this machine are not used: softcann imitates its own"
    if (_DRIVER / "lib64").exists():
        yield f"Ascend's driver in {_DRIVER} is not used: softcann's libraries stand in front"


def _other_canns() -> Iterator[str]:
    ours = (toolkit_path() / "lib64").resolve()
    for folder in filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)):
        if Path(folder).resolve() != ours and (Path(folder) / "libascendcl.so").exists():
            yield f"the CANN in {folder} on LD_LIBRARY_PATH stands behind softcann"
    home = os.environ.get("ASCEND_HOME_PATH")
    if home and Path(home).resolve() != toolkit_path().resolve() and Path(home).exists():
        yield f"the CANN that ASCEND_HOME_PATH names, {home}, is replaced by softcann"
