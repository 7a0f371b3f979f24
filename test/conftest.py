"""Holds a test to what it says it covers: `@pytest.mark.covers("torch_npu.npu.synchronize")`.

The documentation's page of the API counts a name as working because a test declares it, so the
declaration is checked while the test runs: a test that never calls what it claims fails.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from api.calls import CallTracer, claimed_names


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    claims = claimed_names(item)
    if not claims:
        return (yield)
    with CallTracer() as tracer:
        result = yield
    uncalled = [name for name in claims if not tracer.has_called(name)]
    assert not uncalled, f"the test covers {uncalled}, but does not call them"
    return result
