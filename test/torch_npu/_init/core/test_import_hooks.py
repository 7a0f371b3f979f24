"""Functions that run when a module is imported."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path

import pytest

from torch_npu._init.core.import_hooks import when_imported


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "module_of_this_test"
    (tmp_path / f"{name}.py").write_text("ready = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    return name


def test_runs_once_after_the_module_has_run(module: str) -> None:
    seen = []
    when_imported(module, lambda: seen.append(sys.modules[module].ready))
    assert seen == []
    imported = importlib.import_module(module)
    importlib.import_module(module)
    assert seen == [True]
    assert inspect.getsource(imported) == "ready = True\n"


def test_runs_at_once_where_the_module_is_there(module: str) -> None:
    importlib.import_module(module)
    seen = []
    when_imported(module, lambda: seen.append(True))
    assert seen == [True]


def test_leaves_no_hook_behind(module: str) -> None:
    before = list(sys.meta_path)
    when_imported(module, lambda: None)
    importlib.import_module(module)
    assert sys.meta_path == before


def test_absent_module_stays_absent(module: str) -> None:
    when_imported("no_such_module_at_all", lambda: None)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        importlib.import_module("no_such_module_at_all")
