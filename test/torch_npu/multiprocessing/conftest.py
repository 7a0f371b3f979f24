"""A second process for the tests of this folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# So that the second process finds the functions to call: it gets a copy of this list.
sys.path.append(str(Path(__file__).parent))

from partner import Partner


@pytest.fixture(scope="module")
def partner() -> Iterator[Partner]:
    """A process that lives for the whole module and keeps nothing between tests."""
    with Partner() as process:
        yield process


@pytest.fixture
def start() -> Iterator[Callable[[], Any]]:
    """Starts processes that a test may kill."""
    started: list[Partner] = []

    def start_one() -> Partner:
        started.append(Partner())
        return started[-1]

    yield start_one
    for process in started:
        process.end()
