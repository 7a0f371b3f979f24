"""Random arguments for every aclnn function of the table are answered with a code and a text.

A process of its own makes the calls, so that one that crashes or hangs is a failure with a name.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.aclnn import Draw, Unit

TEST = Path(__file__).parents[1]


def test_draws_are_the_same_in_every_process() -> None:
    unit = Unit("aclnnAdd", ("Tensor", "Tensor", "Scalar", "Tensor!"), 5)
    assert unit.calls() == unit.calls()
    assert len(set(unit.calls())) == 5


def test_draws_have_every_form_that_an_argument_may_have() -> None:
    draws = [Draw(random.Random(number)) for number in range(200)]
    assert {draw.argument("bool") for draw in draws} == {"true", "false"}
    assert "null" in {draw.argument("Tensor?") for draw in draws}
    assert "null" not in {draw.argument("Tensor") for draw in draws}
    assert "()" in {draw.argument("Tensor[]") for draw in draws}
    assert all(draw.argument("int[]").startswith("{") for draw in draws)


@pytest.mark.timeout(600)
def test_random_arguments_of_every_function_are_answered() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "fuzz.aclnn", "--draws", "3", "--timeout", "300"],
        cwd=TEST,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=580,
        check=False,
    )
    print(finished.stdout)
    assert finished.returncode == 0, "see 'not expected' above"
