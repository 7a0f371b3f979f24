"""Each aclnn function that Python reaches through the official wheel equals the CPU.

`functions.txt` names a case for each; `unreached.txt` says why there is none for the others that
the wheel names and softcann has.
"""

from __future__ import annotations

import os

import pytest
from official import reach

LEAST = 450


@pytest.mark.timeout(3600)
def test_functions_reached_from_python_equal_the_cpu() -> None:
    listed = reach.read_list(reach.REACHED)
    found = reach.report(reach.run(os.environ["SOFTNPU_OFFICIAL_PYTHON"], set(listed.values())))
    equal = found["reached_and_equal"]
    lost = {name: case for name, case in listed.items() if name not in equal}
    assert not lost, found["failed"]
    assert len(reach.named() & equal.keys()) >= LEAST


def test_every_function_has_a_case_or_a_reason() -> None:
    reached, unreached = (reach.read_list(path) for path in (reach.REACHED, reach.UNREACHED))
    assert not reached.keys() & unreached.keys()
    unexplained = reach.named() - reached.keys() - unreached.keys()
    assert not unexplained, "run `python -m official.reach --discover`, or give a reason"
