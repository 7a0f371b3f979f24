"""The public headers, as a C or a C++ program sees them in the toolkit."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path

import pytest

import softcann

INCLUDE = softcann.toolkit_path() / "include"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LANGUAGES = {
    "C11": [os.environ.get("CC", "cc"), "-std=c11", "-x", "c"],
    "C++17": [os.environ.get("CXX", "c++"), "-std=c++17", "-x", "c++"],
}


def headers(*folders: str) -> list[str]:
    found = (path for folder in folders for path in (INCLUDE / folder).rglob("*.h"))
    return sorted(str(path.relative_to(INCLUDE)) for path in found)


def compile_includes(names: list[str], language: str, folder: Path) -> str:
    """What the compiler says about a source that includes these headers and nothing else."""
    source = folder / "includes"
    lines = [f'#include "{name}"' for name in names]
    source.write_text("\n".join([*lines, "int nothing_else;", ""]))
    command = [*LANGUAGES[language], *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only", str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("header", headers("acl", "aclnn"))
def test_header_stands_alone(header: str, language: str, tmp_path: Path) -> None:
    assert compile_includes([header], language, tmp_path) == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_operator_header_stands_alone(language: str, tmp_path: Path) -> None:
    names = headers("aclnnop")
    assert "aclnnop/aclnn_add.h" in names
    # A sample alone, because all together one may bring what another lacks.
    broken = [name for name in names[::10] if compile_includes([name], language, tmp_path)]
    assert broken == []
    assert compile_includes(names, language, tmp_path) == ""


def test_every_declared_function_of_acl_is_in_a_library_of_the_toolkit() -> None:
    """Implemented or refused: a program that compiles also links."""
    declaration = re.compile(r"^ACL_FUNC_VISIBILITY[^;(]*?\b(\w+)\(", re.MULTILINE)
    declared = {
        name
        for header in headers("acl")
        for name in declaration.findall((INCLUDE / header).read_text())
    }
    assert {"aclrtCreateNotify", "acltdtCreateQueue", "aclprofMark"} <= declared
    # What a lookup finds in a library includes what that one is linked with.
    names = ("acl_op_compiler", "acl_tdt_channel", "acl_tdt_queue", "ascend_dump")
    libraries = [ctypes.CDLL(str(INCLUDE.parent / "lib64" / f"lib{name}.so")) for name in names]
    missing = [
        name for name in declared if not any(hasattr(library, name) for library in libraries)
    ]
    assert missing == []
