"""Dependencies point one way: torch_npu → CANN's C headers ← softcann."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

import softcann

ROOT = Path(__file__).parents[1]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
TORCH = ("torch/", "ATen/", "c10/", "caffe2/", "pybind11/")
PUBLIC = ("acl", "aclnn", "aclnnop", "hccl")


def includes(folder: Path) -> list[tuple[Path, str]]:
    """Every include directive below a folder of the repository."""
    sources = [path for path in folder.rglob("*") if path.suffix in {".h", ".c", ".cpp"}]
    assert sources, f"{folder} holds no sources"
    return [(path, name) for path in sources for name in INCLUDE.findall(path.read_text())]


@pytest.mark.parametrize("folder", ["softcann/runtime", "softcann/include"])
def test_the_runtime_and_the_public_headers_include_no_torch(folder: str) -> None:
    found = [(path, name) for path, name in includes(ROOT / folder) if name.startswith(TORCH)]
    assert found == []


def test_the_backend_includes_nothing_of_softcanns_own() -> None:
    inside = ROOT / "softcann"
    found = [
        (path, name)
        for path, name in includes(ROOT / "torch_npu" / "csrc")
        if "softcann" in name or (inside / name).exists()
    ]
    assert found == []


def test_softcann_includes_nothing_of_the_backend() -> None:
    found = [
        (path, name) for path, name in includes(ROOT / "softcann") if name.startswith("torch_npu/")
    ]
    assert found == []


def test_public_headers_include_only_each_other_and_the_standard_library() -> None:
    found = [
        (path, name)
        for path, name in includes(ROOT / "softcann" / "include")
        if "/" in name and name.split("/")[0] not in PUBLIC
    ]
    assert found == []


def needed_libraries(library: Path) -> list[str]:
    printed = subprocess.run(
        ["readelf", "-d", str(library)], capture_output=True, text=True, check=True
    )
    return re.findall(r"\(NEEDED\).*\[(.+)\]", printed.stdout)


def test_the_backend_is_not_linked_to_a_cann() -> None:
    specification = importlib.util.find_spec("torch_npu")
    assert specification is not None
    assert specification.origin is not None
    needed = needed_libraries(Path(specification.origin).parent / "lib" / "libtorch_npu.so")
    assert not {"libascendcl.so", "libopapi.so", "libhccl.so"} & set(needed)


def test_the_runtime_is_not_linked_to_torch() -> None:
    needed = needed_libraries(softcann.toolkit_path() / "lib64" / "libascendcl.so")
    assert [name for name in needed if "torch" in name or "c10" in name] == []
