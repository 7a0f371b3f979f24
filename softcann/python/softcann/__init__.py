"""A software CANN: Ascend's C libraries for machines without an Ascend card.

The libraries lie in a folder that looks like a CANN installation; `toolkit_path()` names it.
Importing this package starts nothing and changes no environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["environment", "toolkit_path"]
__version__ = "0.1.0"

# Search paths, and the toolkit's folder that goes in front of each.
_SEARCHED = {
    "LD_LIBRARY_PATH": "lib64",
    "PYTHONPATH": "python/site-packages",
    "PATH": "bin",
}


def toolkit_path() -> Path:
    """The folder that takes the place of a CANN installation: `set_env.sh`, `lib64/`, `bin/` …"""
    return Path(__file__).parent / "toolkit"


def environment(base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """A copy of `base` with what the toolkit's `set_env.sh` sets.

    The search paths keep their entries, behind the toolkit's own.
    """
    home = toolkit_path()
    variables = dict(base)
    for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH", "ASCEND_AICPU_PATH"):
        variables[name] = str(home)
    variables["ASCEND_OPP_PATH"] = str(home / "opp")
    for name, folder in _SEARCHED.items():
        variables[name] = _prepend(str(home / folder), base.get(name, ""))
    return variables


def _prepend(folder: str, search_path: str) -> str:
    if not search_path:
        return folder
    first = search_path.split(os.pathsep, 1)[0]
    return search_path if first == folder else folder + os.pathsep + search_path
