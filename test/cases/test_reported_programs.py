"""Programs that users' reports were re-created as. Each prints what it expects and what it got, and
ends with 1 if they differ. They lie beside the project, in `shared/cases`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "cases"
PROGRAMS = sorted(FOLDER.glob("*.py"))


@pytest.mark.skipif(not PROGRAMS, reason="there is no folder shared/cases beside the project")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_reported_program_gets_what_it_expects(program):
    run = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
