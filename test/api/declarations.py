"""Finds what the tests declare to cover, in their sources: without running or importing them.

A Python test says `@pytest.mark.covers("torch_npu.npu.x", …)`; the arguments are literals or
`*NAMES`, where `NAMES` is a literal of the module: a tuple, a list, or a dictionary whose keys
count. A C++ test says `// covers: c10_npu::x` on a line of its own.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
_CPP_DECLARATION = re.compile(r"^\s*// covers: (.+?)\s*$", re.MULTILINE)


def declared() -> dict[str, str]:
    """Every covered name, with the first test that covers it, as `path::test`."""
    covered: dict[str, str] = {}
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "covers(" in text:
            for name, test in _in_python(text, path):
                covered.setdefault(name, f"{path.relative_to(TESTS.parent)}::{test}")
    for path in sorted(TESTS.rglob("*.cpp")):
        for match in _CPP_DECLARATION.finditer(path.read_text(encoding="utf-8")):
            covered.setdefault(match[1], str(path.relative_to(TESTS.parent)))
    return covered


def _in_python(text: str, path: Path) -> list[tuple[str, str]]:
    module = ast.parse(text)
    constants = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and node.value is not None
    }
    found = []
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        for call in _covers_calls(node):
            for argument in call.args:
                for name in _literals(argument, constants, path):
                    found.append((name, node.name))
    return found


def _covers_calls(node: ast.FunctionDef | ast.ClassDef) -> list[ast.Call]:
    return [
        call
        for decorator in node.decorator_list
        for call in ast.walk(decorator)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "covers"
    ]


def _literals(argument: ast.expr, constants: dict[str, ast.expr], path: Path) -> list[str]:
    try:
        if not isinstance(argument, ast.Starred):
            return [ast.literal_eval(argument)]
        assert isinstance(argument.value, ast.Name)
        value = constants[argument.value.id]
        if isinstance(value, ast.Dict):
            return [ast.literal_eval(key) for key in value.keys if key is not None]
        return list(ast.literal_eval(value))
    except (AssertionError, KeyError, ValueError) as error:
        raise ValueError(
            f"{path}:{argument.lineno}: covers() takes literal names, or *NAMES with a literal "
            "tuple, list or dictionary of the module"
        ) from error
