"""vllm-ascend on the official torch-npu on softcann, on demand.

    .venv/bin/python test/official/vllm_ascend_tests.py [--python PYTHON]

makes an environment of its own, `build/official/vllm-0.23.0`, unless it is given one, and runs the
scripts of `vllm_scripts` in it, each in a process of its own. docs/official-wheel.md says what is
installed, and why so.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

import softcann

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCRIPTS = ("imports.py", "generate.py")
VLLM, TORCH, TORCHVISION = "0.23.0", "2.13.0", "0.28.0"

# What building vllm without a device needs; with isolation pip would bring the torch that it pins.
BUILD = (
    "setuptools>=77.0.3,<81",
    "setuptools-scm>=8",
    "setuptools-rust",
    "wheel",
    "packaging>=24.2",
)
BUILD += ("jinja2", "cmake", "ninja")
# Their own requirements would bring another torch or triton.
ALONE = ("compressed-tensors", "xgrammar")
NEEDED_BY_THESE = ("apache-tvm-ffi", "loguru")
# Pinned to another torch, not on PyPI, for a card, or installed already.
LEFT_OUT = ("torch", "torchvision", "torchaudio", "torch-npu", "triton-ascend", "memfabric-hybrid")
LEFT_OUT += ("memcache-hybrid", "arctic-inference", "pip", "setuptools", "setuptools-scm")
# Prints what both packages require, one a line.
LIST_REQUIREMENTS = """
import importlib.metadata as metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
for package in ("vllm", "vllm-ascend"):
    for text in metadata.requires(package):
        needed = Requirement(text)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            needed.marker = None
            print(canonicalize_name(needed.name), needed, sep="\\t")
"""


def install(python: Path) -> None:
    """Fills the environment of `python`."""
    constraints = python.parents[1] / "constraints.txt"
    constraints.write_text(f"torch=={TORCH}\n")

    def pip(*arguments: str, **variables: str) -> None:
        command = [str(python), "-m", "pip", "install", "-q", "-c", str(constraints), *arguments]
        # torch_npu cannot be loaded while vllm's setup imports torch, and Rust is for a server
        # that these scripts do not start.
        once = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "CARGO_NET_OFFLINE": "true"}
        subprocess.run(command, env={**os.environ, **once, **variables}, check=True)

    pip(f"torch=={TORCH}", "numpy", "pyyaml", *BUILD)
    pip("--no-deps", f"torch-npu=={TORCH}", f"torchvision=={TORCHVISION}")
    pip("--no-deps", "--only-binary=:all:", f"vllm-ascend=={VLLM}")
    empty = ("--no-deps", "--no-build-isolation", "--no-binary=vllm", f"vllm=={VLLM}")
    # Without the override it calls itself 0.23.0+empty, and pip discards what it did not ask for.
    pip(*empty, VLLM_TARGET_DEVICE="empty", VLLM_VERSION_OVERRIDE=VLLM)
    listed = subprocess.run(
        [str(python), "-c", LIST_REQUIREMENTS], capture_output=True, text=True, check=True
    )
    needed = [line.split("\t") for line in listed.stdout.splitlines()]
    pip(*(text for name, text in needed if name not in (*LEFT_OUT, *ALONE)))
    pip("--no-deps", *(text for name, text in needed if name in ALONE), *NEEDED_BY_THESE)


def environment() -> dict[str, str]:
    """softcann's, with one process for the engine and what torchvision needs (site/)."""
    found = softcann.environment()
    found["PYTHONPATH"] += os.pathsep + str(HERE / "vllm_scripts" / "site")
    return {
        **found,
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", type=Path, help="of an environment that has all packages")
    python = parser.parse_args().python
    if python is None:
        folder = ROOT / "build" / "official" / f"vllm-{VLLM}"
        python = folder / "bin" / "python"
        done = folder / "installed"
        if not done.exists():
            venv.create(folder, clear=True, with_pip=True)
            install(python)
            done.touch()
    failed = 0
    for script in SCRIPTS:
        print(f"-- {script}", flush=True)
        code = subprocess.run(
            [str(python), "-W", "ignore", str(HERE / "vllm_scripts" / script)],
            env=environment(),
            check=False,
        ).returncode
        failed += code != 0
    print(f"{len(SCRIPTS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
