"""Phase one of every function of the table, with an argument missing: it answers with CANN's code
and a text that names the function."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import pytest

from operators import generate, schema

NULL = 161001
INVALID = 161002
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


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("aclnnForeachNorm", "(float32[2]|float32[2]) 2 ()"),
        ("aclnnForeachAbs", "(float32[2]|float32[2]) (float32[2])"),
        ("aclnnForeachPowScalarAndTensor", "2.0 (float32[2]|float32[2]) (float32[2])"),
        ("aclnnQuantize", "float32[] float32[4] null int8 1 int8[]"),
        ("aclnnQuantize", "float32[2,3] float32[3] null int8 2 int8[2,3]"),
        ("aclnnBatchNormElemt", "float32[3] null null float32[3] float32[3] 0.5 float32[3]"),
        ("aclnnPreluBackward", "float32[3] float32[3] float32[3] float32[3] float32[3]"),
        (
            "aclnnBatchNormBackward",
            "float32[2,3,4] float32[2,3,4] float32[3] float32[3] float32[3] float32[2] float32[3]"
            " true 0.00001 {1,1,1} float32[2,3,4] float32[3] float32[3]",
        ),
    ],
)
def test_phase_one_reads_nothing_past_the_end(
    function: str, arguments: str, phase_one: PhaseOne
) -> None:
    """It refuses the call, or leaves that to the kernel; once it ended the process."""
    status, message = phase_one(function, arguments)
    assert status in (0, INVALID), message
    assert status == 0 or function in message


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("softcannPdistBackward", "float64[0,4,0] float64[0,4] -1.5 float64[0] float64[0,4]"),
        ("softcannPdistBackward", "float32[1] float32[4,3] 2.0 float32[1] float32[4,3]"),
        ("softcannPdistBackward", "float32[0] float32[0,3] 2.0 float32[0] float32[0,3]"),
        ("aclnnSmoothL1LossBackward", "uint8[2,3] uint8[2,3] uint8[2,3] 1 0.5 uint8[2,3]"),
        ("aclnnSmoothL1LossBackward", "uint8[2,3] uint8[2,3] uint8[2,3] 1 inf uint8[2,3]"),
        ("aclnnTransformBiasRescaleQkv",
         "float32[2,3,12] float32[12] 0 float32[2,1,3,4] float32[2,1,3,4] float32[2,1,3,4]"),
    ],
)  # fmt: skip
def test_kernel_that_would_divide_by_nothing_is_not_reached(
    function: str, arguments: str, phase_one: PhaseOne
) -> None:
    """It once ended the process. Whether the call is refused at once depends on the row's check."""
    assert phase_one(function, arguments)[0] in (0, INVALID)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("softcannCdistForward", "float32[2,3] float32[2,3] 2.0 nan float32[2,2]"),
        ("softcannMaskedSoftmax", "float32[2,3] bool[2,3] inf null float32[2,3]"),
        ("softcannUpsampleNearest1d", "float32[1,2,3] {6} 2.0j float32[1,2,6]"),
    ],
)
def test_scalar_that_is_not_such_a_number_is_refused(
    function: str, arguments: str, phase_one: PhaseOne
) -> None:
    """It once ended the process."""
    status, message = phase_one(function, arguments)
    assert status == INVALID, message
    assert re.match(rf"{function}GetWorkspaceSize: parameter \d: value cannot be conv", message)
