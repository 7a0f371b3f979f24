"""Holds a test to what it says it covers: `@pytest.mark.covers("torch_npu.npu.synchronize")`.

The documentation's page of the API counts a name as working because a test declares it, so the
declaration is checked while the test runs: a test that never calls what it claims fails.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from api.calls import CallTracer, claimed_names

# All processes that use a device share its memory. Those that this one starts and nobody else,
# such as another worker of the suite, shall count here.
_registry = tempfile.mkdtemp(prefix="softcann-test-")
os.environ["SOFTCANN_RUNTIME_DIR"] = _registry
atexit.register(shutil.rmtree, _registry, ignore_errors=True)


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
