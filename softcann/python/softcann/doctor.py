"""What `softcann doctor` looks at. Each check reports a state, and a remedy where one is needed."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from softcann import environment, preflight, toolkit_path

LIBRARIES = ("libascendcl.so", "libopapi.so")

# Counts devices and says what the runtime answers. A process of its own, because a library that
# fails to load or a crash must not end the doctor.
_PROBE = """
import ctypes, sys
runtime = ctypes.CDLL(sys.argv[1] + "/libascendcl.so")
ctypes.CDLL(sys.argv[1] + "/libopapi.so")
count = ctypes.c_uint32()
code = runtime.aclInit(None) or runtime.aclrtGetDeviceCount(ctypes.byref(count))
sys.exit(f"the runtime answers with error {code}") if code else print(count.value)
"""


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report; `remedy` is None where all is well."""

    subject: str
    state: str
    remedy: str | None = None


def examine() -> list[Finding]:
    """All findings, in the order in which they matter."""
    return [*_toolkit(), _torch(), *_devices(), _other_cann(), _driver(), _torch_npu()]


def _toolkit() -> Iterator[Finding]:
    home = toolkit_path()
    missing = [name for name in LIBRARIES if not (home / "lib64" / name).exists()]
    if missing:
        remedy = "install the softcann wheel again, or run `make build` in a source checkout"
        yield Finding("toolkit", f"{home} lacks {', '.join(missing)}", remedy)
    else:
        yield Finding("toolkit", str(home))
    info = home / "version.info"
    found = re.search(r"^Version=(.*)$", info.read_text(), re.M) if info.exists() else None
    if found:
        yield Finding("imitates", f"CANN {found[1]}")


def _torch() -> Finding:
    pin = next((r for r in requires("softcann") or [] if r.startswith("torch==")), "torch")
    wanted = pin.partition("==")[2]
    try:
        installed = version("torch")
    except PackageNotFoundError:
        remedy = f"pip install {pin}; a program that calls no aclnn function needs none"
        return Finding("torch", "not installed", remedy)
    if installed.partition("+")[0] != wanted:
        return Finding("torch", f"{installed}, built for {wanted}", f"pip install {pin}")
    return Finding("torch", installed)


def _devices() -> Iterator[Finding]:
    libraries = toolkit_path() / "lib64"
    if not all((libraries / name).exists() for name in LIBRARIES):
        return
    probe = subprocess.run(
        [sys.executable, "-c", _PROBE, str(libraries)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if probe.returncode == 0:
        yield Finding("devices", f"{probe.stdout.strip()} imitated")
        return
    said = (probe.stderr.strip().splitlines() or [f"exit status {probe.returncode}"])[-1]
    yield Finding("devices", said, "look at the ASCEND_* variables and at the message above")


def _other_cann() -> Finding:
    """A CANN that a program would find before, or instead of, this one."""
    home = os.environ.get("ASCEND_HOME_PATH")
    if home and Path(home).resolve() != toolkit_path().resolve():
        remedy = "start programs with `softcann run --`, or unset ASCEND_HOME_PATH"
        return Finding("other CANN", f"ASCEND_HOME_PATH is {home}", remedy)
    ours = toolkit_path() / "lib64"
    for folder in filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)):
        if Path(folder).resolve() == ours.resolve():
            break
        if (Path(folder) / LIBRARIES[0]).exists():
            remedy = "start programs with `softcann run --`, which puts softcann's libraries first"
            return Finding("other CANN", f"LD_LIBRARY_PATH has {folder} in front", remedy)
    return Finding("other CANN", "none configured")


def _driver() -> Finding:
    cards = list(Path("/dev").glob("davinci[0-9]*"))
    if cards:
        state = f"{len(cards)} Ascend card(s) in this machine; softcann does not use them"
        return Finding("driver", state)
    return Finding("driver", "no Ascend card in this machine")


def _torch_npu() -> Finding:
    official = preflight.official_package()
    present = {"torch-npu": official.version} if official is not None else {}
    with contextlib.suppress(PackageNotFoundError):
        present["softnpu"] = version("softnpu")
    state = ", ".join(f"{name} {number}" for name, number in present.items())
    if official is not None and (obstacles := preflight.obstacles()):
        return Finding("torch_npu", state, "; ".join(obstacles))
    if len(present) == 2:
        remedy = (
            "both own the folder torch_npu: pip uninstall softnpu torch-npu, then install one again"
        )
        return Finding("torch_npu", state, remedy)
    return Finding("torch_npu", state or "not installed")
