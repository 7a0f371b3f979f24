"""The stub `_C.pyi` describes the compiled module: neither more nor less."""

from __future__ import annotations

import ast
from pathlib import Path

import torch_npu
from torch_npu import _C


def _stub() -> dict[str, set[str]]:
    """The names of the stub; for a class those of its members."""
    path = Path(torch_npu.__file__).with_name("_C.pyi")
    found: dict[str, set[str]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {
                member.target.id if isinstance(member, ast.AnnAssign) else member.name
                for member in node.body
                if isinstance(member, ast.FunctionDef)
                or (isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name))
            }
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = set()
    return found


def _public(names: object) -> set[str]:
    return {name for name in names if not name.startswith("__") and "pybind" not in name}


def test_every_name_of_the_module_is_in_the_stub() -> None:
    assert _public(vars(_C)) == set(_stub())


def test_every_member_of_its_classes_is_in_the_stub() -> None:
    for name, members in _stub().items():
        if members:
            assert _public(vars(getattr(_C, name))) == _public(members), name
