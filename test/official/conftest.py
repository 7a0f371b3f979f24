"""Tests that run the official torch_npu, unmodified, on softcann.

`make test-official` installs the wheel in an environment of its own below build/official, and gives
its Python in SOFTNPU_OFFICIAL_PYTHON; without that there is nothing to collect here. What lies in
calls/ runs in that environment itself (reach.py), which SOFTNPU_FUNCTIONS tells.
"""

from __future__ import annotations

import os

OWN = "test_*.py"  # of this folder

if os.environ.get("SOFTNPU_FUNCTIONS"):
    collect_ignore_glob = [OWN]
elif os.environ.get("SOFTNPU_OFFICIAL_PYTHON"):
    collect_ignore_glob = ["calls/*"]
else:
    collect_ignore_glob = [OWN, "calls/*"]
