"""The suite itself: it must notice wrong values, wrong exceptions, crashes and hangs."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from conformance import report, samples
from conformance.outcomes import Outcome, disagreement
from conformance.runner import Runner
from conformance.worker import Unit
from torch.testing._internal import common_methods_invocations as database
from torch.testing._internal.opinfo.core import OpInfo, SampleInput


def compare(expected: Any, actual: Any, values: bool = True) -> str | None:
    return disagreement(Outcome(value=expected), Outcome(value=actual), "cpu", values)


def record(**changes: Any) -> report.Record:
    fields = {
        "operator": "add",
        "variant": "",
        "dtype": "float32",
        "kind": "forward",
        "samples": 2,
        "passed": 1,
        "route": "table",
        "reason": "values: they differ",
    }
    return report.Record(**(fields | changes))


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (torch.tensor([1.0]), torch.tensor([1.001])),
        (torch.tensor([1]), torch.tensor([1], dtype=torch.int32)),
        (torch.zeros(2), torch.zeros(2, 1)),
        (torch.zeros(2), torch.full((2,), float("nan"))),
        ((torch.zeros(2), 1), (torch.zeros(2), 2)),
        ([torch.zeros(2)], [torch.zeros(2), torch.zeros(2)]),
        (torch.zeros(2), 0.0),
        (1.0, 2.0),
    ],
)
def test_a_difference_is_noticed(expected: Any, actual: Any) -> None:
    assert compare(expected, actual) is not None
    assert compare(expected, expected) is None


def test_without_values_only_the_form_counts() -> None:
    assert compare(torch.zeros(2), torch.ones(2), values=False) is None
    assert compare(torch.zeros(2), torch.ones(3), values=False) is not None


def test_a_result_on_the_wrong_device_is_noticed() -> None:
    outcome = Outcome(value=torch.zeros(2))
    assert disagreement(outcome, outcome, "meta", values=True) == "result is on cpu"


def test_exceptions_agree_by_their_type() -> None:
    def of(expected: Exception | None, actual: Exception | None) -> str | None:
        return disagreement(Outcome(error=expected), Outcome(error=actual), "cpu", values=True)

    assert of(IndexError("a"), IndexError("b")) is None
    assert of(IndexError("a"), RuntimeError("a")) is not None
    assert of(RuntimeError("a"), NotImplementedError("a")) is not None
    assert of(RuntimeError("a"), None) is not None
    assert of(None, RuntimeError("a")) is not None


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(12.0).reshape(3, 4).t(),
        torch.arange(12.0)[2::3],
        torch.arange(3.0).expand(4, 3),
        torch.arange(6).to(torch.complex64).conj(),
        torch.empty(0, 3),
        torch.tensor(7),
    ],
)
def test_a_copy_keeps_values_and_strides(tensor: torch.Tensor) -> None:
    copy = samples.copy_to(tensor, "cpu")
    assert copy.data_ptr() != tensor.data_ptr() or tensor.numel() == 0
    assert copy.stride() == tensor.stride()
    assert copy.is_conj() == tensor.is_conj()
    assert torch.equal(copy, tensor)


def test_a_tensor_given_twice_stays_one() -> None:
    tensor = torch.zeros(2, requires_grad=True)
    arguments = samples.Arguments((tensor, [tensor]), {"device": "cpu"})
    first, (second,) = arguments.on("meta").args
    assert first is second
    assert first.requires_grad
    assert arguments.on("meta").kwargs == {"device": "meta"}


def test_a_tensor_on_a_device_of_its_own_stays_there() -> None:
    other = torch.ones(2, device="meta")
    assert samples.Arguments((torch.ones(2), other), {}).on("cpu").args[1] is other


def test_an_expectation_covers_failures_but_no_crash() -> None:
    line = report.Expectation("a*", "forward", "*", "known")
    assert report.unexpected([record()], [line]) == []
    assert report.unexpected([record(kind="out")], [line]) != []
    assert report.unexpected([record(reason="crash: SIGSEGV")], [line]) != []
    assert report.needless([record(passed=2, reason="")], [line]) == [line]
    assert report.needless([record()], [line]) == []


def run_database(
    monkeypatch: pytest.MonkeyPatch, folder: Path, operators: dict[str, Any]
) -> dict[str, report.Record]:
    def three_samples(entry: Any, device: str, dtype: torch.dtype, requires_grad: bool) -> Any:
        for number in range(3):
            yield SampleInput(torch.full((2,), float(number)))

    entries = [
        OpInfo(name, op=operator, dtypes=(torch.float32,), sample_inputs_func=three_samples)
        for name, operator in operators.items()
    ]
    monkeypatch.setattr(database, "op_db", entries)
    units = [Unit(index, torch.float32, "forward", "cpu", 3) for index in range(len(entries))]
    runner = Runner(units, workers=1, timeout=10, folder=folder)
    runner.run()
    return {f"{one.operator} {one.passed}": one for one in runner.records}


def test_a_crash_and_a_hang_cost_their_sample_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def crash(tensor: torch.Tensor) -> torch.Tensor:
        if tensor[0] == 1:
            os.abort()
        return tensor + 1

    def hang(tensor: torch.Tensor) -> torch.Tensor:
        if tensor[0] == 2:
            time.sleep(600)
        return tensor + 1

    records = run_database(
        monkeypatch, tmp_path, {"crashes": crash, "hangs": hang, "works": torch.neg}
    )
    assert records["crashes 0"].reason == "crash: SIGABRT at sample 1"
    assert records["hangs 0"].reason == "hang: nothing for 10 s at sample 2"
    for name in ("crashes 2", "hangs 2", "works 3"):
        assert records[name].samples == records[name].passed


def test_a_wrong_result_is_recorded_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = iter(range(100))

    def unsteady(tensor: torch.Tensor) -> torch.Tensor:
        return tensor + next(calls)

    records = run_database(monkeypatch, tmp_path, {"unsteady": unsteady})
    assert records["unsteady 0"].samples == 3
    assert records["unsteady 0"].reason.startswith("values: ")
