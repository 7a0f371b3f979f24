"""Configures the embedded softcann for a process that has no CANN configured.

A CANN installation is configured by environment variables, which its `set_env.sh` exports. Where
nothing has set them, the installed package `softcann` gives the values of its own toolkit. They
reach child processes by inheritance, so `SOFTNPU_EMBEDDED_CANN` marks them as set by us: a child
must not take them for a CANN installation that somebody chose.

The search paths that `set_env.sh` extends stay as they are: libraries are loaded by their full
path, and the loader of a child would go on finding them after the child has switched us off.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import MutableMapping

HOME_VARIABLE = "ASCEND_HOME_PATH"
MARK_VARIABLE = "SOFTNPU_EMBEDDED_CANN"
SWITCH_VARIABLE = "SOFTNPU_CANN"

_PREFIX = "ASCEND_"
_SWITCH_VALUES = ("", "embedded", "none")


def configure(environment: MutableMapping[str, str] = os.environ) -> str | None:
    """Sets the variables where no CANN is configured; returns the embedded toolkit in use.

    Returns `None` where a CANN is configured from outside, where `SOFTNPU_CANN=none` switches
    the embedded one off, and where the package `softcann` is not installed. Raises `ValueError`
    for another value of that switch.
    """
    switch = environment.get(SWITCH_VARIABLE, "")
    if switch not in _SWITCH_VALUES:
        raise ValueError(
            f"{SWITCH_VARIABLE} is '{switch}'; it may be 'embedded' (the default) or 'none'. "
            f"To use an installed CANN, source its set_env.sh, which sets {HOME_VARIABLE}."
        )
    _withdraw_inherited(environment)
    if switch == "none" or HOME_VARIABLE in environment:
        return None
    try:
        softcann = importlib.import_module("softcann")
    except ModuleNotFoundError as error:
        if error.name != "softcann":
            raise
        return None
    # A source checkout has a folder of that name without the package in it.
    if not hasattr(softcann, "toolkit_path"):
        return None
    toolkit = os.fspath(softcann.toolkit_path())
    for name, value in softcann.environment({}).items():
        if name.startswith(_PREFIX):
            environment[name] = value
    environment[MARK_VARIABLE] = toolkit
    return toolkit


def _withdraw_inherited(environment: MutableMapping[str, str]) -> None:
    """Removes what the embedded softcann of a parent process left.

    Where somebody has configured another CANN since, only the mark goes.
    """
    toolkit = environment.pop(MARK_VARIABLE, None)
    if toolkit is None or environment.get(HOME_VARIABLE) != toolkit:
        return
    for name, value in list(environment.items()):
        if name.startswith(_PREFIX) and (value + os.sep).startswith(toolkit + os.sep):
            del environment[name]
