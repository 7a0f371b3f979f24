"""Makes the suite importable as `fuzz`, as the folders beside it are."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
