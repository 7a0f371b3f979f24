"""Tests that run the official torch_npu, unmodified, on softcann.

`make test-official` installs the wheel in an environment of its own, build/official/venv, and gives
its Python in SOFTNPU_OFFICIAL_PYTHON; without that there is nothing to collect here.
"""

from __future__ import annotations

import os

PYTHON = os.environ.get("SOFTNPU_OFFICIAL_PYTHON")

collect_ignore_glob = [] if PYTHON else ["*.py"]
