"""Runs a function when a module is first imported, so that our import need not import it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


class _CallingLoader(importlib.abc.Loader):
    """Loads as `loader` does, then calls `callback`."""

    def __init__(self, loader: importlib.abc.Loader, callback: Callable[[], None]) -> None:
        self._loader = loader
        self._callback = callback

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module keeps its own loader: inspect and pkgutil ask it for the source.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._callback()


class _ImportHook(importlib.abc.MetaPathFinder):
    """Waits in `sys.meta_path` for one module and leaves when it has come."""

    def __init__(self, name: str, callback: Callable[[], None]) -> None:
        self._name = name
        self._callback = callback

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _CallingLoader(spec.loader, self._callback)
        return spec


def when_imported(name: str, callback: Callable[[], None]) -> None:
    """Calls `callback` once, right after the module `name` has run; at once if it already has."""
    if name in sys.modules:
        callback()
    else:
        sys.meta_path.insert(0, _ImportHook(name, callback))
