"""What is let pass for the official torch_npu, and that nothing else is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from conformance import leeway
from conformance.outcomes import Outcome, disagreement

POOL = "nn.functional.max_pool2d"


def compare(entry: str, expected: Any, actual: Any, allowed: leeway.Leeway) -> str | None:
    return disagreement(Outcome(value=expected), Outcome(value=actual), "cpu", True, allowed, entry)


@pytest.fixture(autouse=True)
def default_implementation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_NPU_USE_COMPATIBLE_IMPL", raising=False)


@pytest.mark.parametrize(
    ("entry", "expected", "actual", "wrong"),
    [
        ("sin", torch.full((2,), 1 / 3).double(), torch.full((2,), 1 / 3), torch.ones(2)),
        ("sin", torch.zeros(2, dtype=torch.complex128), torch.zeros(2) * 1j, torch.ones(2) * 1j),
        (
            "nn.functional.adaptive_max_pool3d",
            (torch.zeros(2), torch.tensor([5, 6])),
            (torch.zeros(2), torch.tensor([5, 6], dtype=torch.int32)),
            (torch.zeros(2), torch.tensor([5, 7], dtype=torch.int32)),
        ),
        (POOL, (torch.zeros(2), torch.zeros(2)), (torch.zeros(2), 1), (torch.ones(2), 1)),
        (
            "native_batch_norm",
            (torch.zeros(2), torch.zeros(0), torch.zeros(0)),
            (torch.zeros(2), torch.ones(2), torch.ones(2)),
            (torch.ones(2), torch.ones(2), torch.ones(2)),
        ),
        (
            "native_layer_norm",
            (torch.zeros(2), torch.full((2,), 1 / 3).half()),
            (torch.zeros(2), torch.full((2,), 1 / 3)),
            (torch.zeros(2), torch.ones(2)),
        ),
        (
            "_batch_norm_with_update",
            torch.full((2,), 1.0).half(),
            torch.full((2,), 1.003).half(),
            torch.full((2,), 1.01).half(),
        ),
    ],
)
def test_the_official_torch_npu_may_differ_in_form_but_not_in_values(
    entry: str, expected: Any, actual: Any, wrong: Any
) -> None:
    assert compare(entry, expected, actual, leeway.official()) is None
    assert compare(entry, expected, wrong, leeway.official()) is not None
    assert compare(entry, expected, actual, leeway.NONE) is not None


def test_with_the_compatible_implementation_pooling_gives_positions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TORCH_NPU_USE_COMPATIBLE_IMPL", "1")
    expected = (torch.zeros(2), torch.tensor([1, 2]))
    for last, right in ((2, True), (3, False)):
        actual = (torch.zeros(2), torch.tensor([1, last], dtype=torch.int32))
        assert (compare(POOL, expected, actual, leeway.official()) is None) == right
