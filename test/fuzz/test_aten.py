"""Random wrong calls of the table's ATen operators end on npu as on the CPU.

A process of its own makes the calls, so that one that crashes or hangs is a failure with a name.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conformance.outcomes import Outcome
from fuzz import compare, seeds
from fuzz.outputs import Stays

TEST = Path(__file__).parents[1]
ADD = torch.ops.aten.add.Tensor


def test_a_wrong_value_and_a_missing_error_are_noticed() -> None:
    args = (torch.ones(2), torch.ones(2))
    right, _ = compare.run(ADD, args, {}, "cpu")
    assert compare.difference(ADD, args, {}, right) is None
    wrong = Outcome(value=(torch.zeros(2), []))
    assert compare.difference(ADD, args, {}, wrong) is not None
    refused = Outcome(error=RuntimeError("no"))
    assert compare.difference(ADD, args, {}, refused) is not None


def test_a_result_in_spite_of_two_devices_is_noticed() -> None:
    absolute = torch.ops.aten.abs.out
    args, kwargs = (torch.ones(2),), {"out": Stays(torch.zeros(2), "cpu")}
    expected, _ = compare.run(absolute, args, {"out": torch.zeros(2)}, "cpu")
    assert compare.misplacement(absolute, args, kwargs, expected) is None
    elsewhere = (Stays(torch.ones(2), "cpu"),)
    assert compare.misplacement(
        absolute, elsewhere, {"out": Stays(torch.zeros(2), "cpu")}, expected
    )


def test_every_overload_of_the_table_is_there() -> None:
    assert {"add.Tensor", "add_.Tensor", "add.out", "_foreach_add.List"} <= set(seeds.overloads())
    assert len(seeds.overloads()) > 1000


@pytest.mark.timeout(900)
def test_random_calls_of_every_overload_end_as_on_the_cpu() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "fuzz.aten", "--draws", "2", "--timeout", "300"],
        cwd=TEST,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=880,
        check=False,
    )
    print(finished.stdout)
    assert finished.returncode == 0, "see 'not expected' above"
