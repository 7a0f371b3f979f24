"""Phase one of aclnn functions for tests; fuzz.phase_one says how arguments are written."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from fuzz import phase_one as first_phase

PhaseOne = Callable[[str, str], tuple[int, str]]


@pytest.fixture
def phase_one() -> PhaseOne:
    """Calls …GetWorkspaceSize of a function: what it returns, and the error's text."""
    return first_phase.call


@pytest.fixture
def strict() -> Iterator[None]:
    """Strict mode, for one test."""
    library = first_phase.library()
    before = library.softcannStrictMode()
    library.softcannSetStrictMode(ctypes.c_bool(True))
    yield
    library.softcannSetStrictMode(ctypes.c_bool(before))
