"""Strict mode: what CANN's documents allow passes; what they exclude is refused with their code."""

from __future__ import annotations

from pathlib import Path

import pytest

from operators import generate, schema

NULL = 161001


def read_cases() -> dict[str, list[tuple[int | None, str]]]:
    """The calls of limit_cases*.txt by function: code (None for -) and arguments."""
    cases: dict[str, list[tuple[int | None, str]]] = {}
    files = sorted(Path(__file__).parent.glob("limit_cases*.txt"))
    for line in (line for file in files for line in file.read_text().splitlines()):
        text = line.partition("#")[0].strip()
        if text.startswith(("aclnn", "softcann")):
            calls = cases.setdefault(text, [])
        elif text:
            code, arguments = text.split(maxsplit=1)
            calls.append((None if code == "-" else int(code), arguments))
    return cases


CASES = read_cases()


@pytest.mark.parametrize("function", CASES)
def test_strict_mode_follows_the_document(function, phase_one, strict) -> None:
    for code, arguments in CASES[function]:
        status, message = phase_one(function, arguments)
        if code is None:
            assert "(strict mode)" not in message, arguments
            continue
        assert status == code, f"{function} {arguments}: {message}"
        if code not in (0, NULL):
            assert message.startswith(f"{function}: "), arguments
            assert "(strict mode)" in message, arguments


def test_without_strict_mode_no_limit_is_checked(phase_one) -> None:
    for function, calls in CASES.items():
        for _, arguments in calls:
            assert "(strict mode)" not in phase_one(function, arguments)[1]


def test_every_row_with_limits_has_calls_that_are_allowed_and_that_are_not() -> None:
    limited = {r.function for r in schema.load(generate.ROOT / "table") if r.limits is not None}
    kinds = {f: {code in (0, None) for code, _ in calls} for f, calls in CASES.items()}
    assert {f for f in limited if kinds.get(f) != {True, False}} == set()


# Of Ascend's own operators that downstream projects call: the functions behind those of them whose
# document is published.
CALLED_DOWNSTREAM = {
    "aclnnAddRmsNorm",
    "aclnnAscendQuantV3",
    "aclnnConvertWeightToINT4Pack",
    "aclnnDynamicQuantV3",
    "aclnnFastGelu",
    "aclnnFlashAttentionScoreGradV2",
    "aclnnFlashAttentionScoreV2",
    "aclnnFlashAttentionUnpaddingScoreGradV2",
    "aclnnFlashAttentionVarLenScoreV2",
    "aclnnFusedInferAttentionScoreV3",
    "aclnnFusedInferAttentionScoreV4",
    "aclnnIncreFlashAttentionV4",
    "aclnnMoeGatingTopK",
    "aclnnMoeInitRoutingV3",
    "aclnnPromptFlashAttentionV3",
    "aclnnQuantMatmulV4",
    "aclnnRmsNorm",
    "aclnnRotaryPositionEmbedding",
    "aclnnSwiGlu",
    "aclnnTransQuantParamV2",
    "aclnnWeightQuantBatchMatmulV2",
}


def test_what_models_and_downstream_projects_call_has_limits() -> None:
    limited = {r.function for r in schema.load(generate.ROOT / "table") if r.limits is not None}
    lines = (Path(__file__).parent / "use_in_models.tsv").read_text().splitlines()
    in_models = {line.split("\t")[0] for line in lines if not line.startswith("#")}
    assert len(in_models) >= 100
    assert (in_models | CALLED_DOWNSTREAM) - limited == set()


@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        (
            "aclnnMm",
            "float64[2,3] float64[3,4] float64[2,4] 1",
            "aclnnMm: self is float64; allowed are float16, float32, bfloat16 (strict mode)",
        ),
        (
            "aclnnTriu",
            "float32[3] 0 float32[3]",
            "aclnnTriu: self has 1 dimensions; allowed are 0, 2 to 8 (strict mode)",
        ),
    ],
)
def test_the_message_names_operator_argument_given_and_allowed(
    function, arguments, text, phase_one, strict
) -> None:
    assert phase_one(function, arguments)[1] == text
