"""What happens when the process ends."""

from __future__ import annotations

import atexit
import os


def install_exit_hook() -> None:
    """Makes the process wait for its devices before it ends; a fork's child has nothing to do."""
    atexit.register(_finish, os.getpid())


def _finish(owner: int) -> None:
    """Waits for the queued work of every device that this process has started.

    Work that fails after the last synchronisation of the program would otherwise go unnoticed, so
    its error is reported as a warning. The exit code stays the program's.
    """
    if os.getpid() == owner:
        from torch_npu import _C

        _C._npu_shutdown()
