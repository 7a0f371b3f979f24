"""Makes the suite importable as `conformance`, as it is when run from the folder above."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
