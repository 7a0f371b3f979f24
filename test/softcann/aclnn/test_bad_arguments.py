"""Phase one of every function of the table, with an argument missing: it answers with CANN's code
and a text that names the function."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from operators import generate, schema

NULL = 161001
PhaseOne = Callable[[str, str], tuple[int, str]]


@functools.cache
def families() -> dict[str, list[schema.Row]]:
    rows: dict[str, list[schema.Row]] = {}
    for row in schema.load(generate.ROOT / "table"):
        rows.setdefault(row.family, []).append(row)
    return rows


PLAIN = {
    "Tensor": "float32[2,3]",
    "Scalar": "1.0",
    "int": "1",
    "int32": "1",
    "int8": "1",
    "uint64": "1",
    "bool": "true",
    "double": "1.0",
    "float": "1.0",
    "dtype": "float32",
    "str": "none",
}


def plain(kind: str) -> str:
    """Some argument of the kind; what it is does not matter where another one is missing."""
    base = kind.rstrip("!?~[]")
    if "?" in kind and kind not in ("Tensor?[]", "dtype?"):
        return "null"
    if "[]" in kind:
        return {"Tensor": "(float32[2,3])", "Scalar": "{1.0}"}.get(base, "{1}")
    return PLAIN[base]


@pytest.mark.parametrize("family", families())
def test_missing_argument_is_refused(family: str, phase_one: PhaseOne) -> None:
    for row in families()[family]:
        texts = [plain(parameter.type) for parameter in row.parameters]
        for position, parameter in enumerate(row.parameters):
            if not parameter.required:
                continue
            arguments = " ".join([*texts[:position], "null", *texts[position + 1 :]])
            status, message = phase_one(row.function, arguments)
            assert status == NULL, f"{row.function} {arguments}: {status} {message}"
            assert row.function in message, arguments
