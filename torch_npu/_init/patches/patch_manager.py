"""The one list of the changes that this package makes to PyTorch.

A patch is a function without arguments, registered under a group::

    @PatchManager.register_patch("npu")
    def storage_is_shared() -> None:
        ...

Groups are applied in the order of their first registration and patches in the order of theirs,
each at most once.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

Patch = Callable[[], None]


class PatchError(RuntimeError):
    """A patch failed. The message names it; `__cause__` is what it raised."""


@dataclass
class _Entry:
    group: str
    name: str
    patch: Patch
    applied: bool = False


class PatchManager:
    """Registers, applies and lists patches. Safe to call from several threads."""

    _entries: ClassVar[builtins.list[_Entry]] = []
    # Reentrant: applying a patch may import a module that registers another.
    _lock: ClassVar[threading.RLock] = threading.RLock()

    @classmethod
    def register_patch(cls, group: str) -> Callable[[Patch], Patch]:
        """A decorator that registers a function under `group` and leaves it as it is.

        Raises `ValueError` where the group already has a patch of that name.
        """

        def register(patch: Patch) -> Patch:
            name = patch.__name__
            with cls._lock:
                if any((entry.group, entry.name) == (group, name) for entry in cls._entries):
                    raise ValueError(f"the group '{group}' already has a patch '{name}'")
                cls._entries.append(_Entry(group, name, patch))
            return patch

        return register

    @classmethod
    def apply(cls, group: str) -> None:
        """Applies the patches of `group` that have not been applied.

        Raises `KeyError` for an unknown group, and `PatchError` where a patch fails: those before
        it stay applied, it and those after it do not count as applied.
        """
        with cls._lock:
            if all(entry.group != group for entry in cls._entries):
                raise KeyError(f"no patch is registered under the group '{group}'")
            for entry in tuple(cls._entries):
                if entry.group == group:
                    cls._apply(entry)

    @classmethod
    def apply_all(cls) -> None:
        """Applies every group, in the order of first registration."""
        with cls._lock:
            for group in dict.fromkeys(entry.group for entry in cls._entries):
                cls.apply(group)

    @classmethod
    def list(cls) -> Sequence[tuple[str, str, bool]]:
        """Every patch as (group, name, whether applied), in the order of registration."""
        with cls._lock:
            return [(entry.group, entry.name, entry.applied) for entry in cls._entries]

    @classmethod
    def clear(cls) -> None:
        """Forgets every patch, for tests; undoes none of those applied."""
        with cls._lock:
            cls._entries.clear()

    @staticmethod
    def _apply(entry: _Entry) -> None:
        if entry.applied:
            return
        try:
            entry.patch()
        except Exception as error:
            raise PatchError(
                f"the patch '{entry.name}' of the group '{entry.group}' failed: {error}"
            ) from error
        entry.applied = True


def apply_all() -> None:
    """Registers the patches of this package and applies them."""
    from torch_npu._init.patches import (  # noqa: F401 (register on import)
        dynamo,
        multiprocessing,
        parallel,
        storage,
    )

    PatchManager.apply_all()
