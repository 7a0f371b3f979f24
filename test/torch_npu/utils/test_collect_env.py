"""The report of the environment."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import torch_npu
from torch_npu.utils import collect_env


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    return tmp_path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_version_is_read_from_the_folder_of_an_architecture(home: Path) -> None:
    _write(home / "aarch64-linux" / "ascend_toolkit_install.info", "arch=aarch64\nversion=8.5.0\n")
    assert collect_env.get_cann_version() == "8.5.0"


def test_version_is_read_from_the_home_itself(home: Path) -> None:
    _write(home / "ascend_nnrt_install.info", "version = 6.3.RC2\n")
    assert collect_env.get_cann_version() == "6.3.RC2"


def test_the_toolkit_goes_before_other_packages(home: Path) -> None:
    _write(home / "x86_64-linux" / "ascend_ops_install.info", "version=1\n")
    _write(home / "x86_64-linux" / "ascend_nnrt_install.info", "version=2\n")
    _write(home / "x86_64-linux" / "ascend_toolkit_install.info", "version=3\n")
    assert collect_env.get_cann_version() == "3"


@pytest.mark.parametrize("text", [None, "", "path=/opt\n"])
def test_version_is_not_known_where_no_file_tells_it(home: Path, text: str | None) -> None:
    if text is not None:
        _write(home / "ascend_toolkit_install.info", text)
    assert collect_env.get_cann_version() == "not known"


def test_version_is_not_known_without_a_cann(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    assert collect_env.get_cann_version() == "not known"


def test_report_names_the_versions() -> None:
    report = collect_env.get_pretty_env_info()
    assert f"PyTorch: {torch.__version__}" in report
    assert f"torch_npu: {torch_npu.__version__}" in report
    assert f"npu devices: {torch.npu.device_count()}" in report
