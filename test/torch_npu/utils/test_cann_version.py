"""The versions of the parts of a CANN installation."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from torch_npu.utils import get_cann_version


@pytest.mark.covers("torch_npu.utils.get_cann_version")
def test_versions_are_read_from_the_installations_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    assert get_cann_version() == ""
    (tmp_path / "ascend_toolkit_install.info").write_text("version=8.5.0\n")
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "version.info").write_text("Version=8.5.1\n")
    assert get_cann_version() == get_cann_version("CANN") == "8.5.0"
    assert get_cann_version("RUNTIME") == "8.5.1"
    assert get_cann_version("COMPILER") == ""


def test_unknown_part_is_refused() -> None:
    with pytest.raises(ValueError, match="'KERNEL'"):
        get_cann_version("KERNEL")


def test_function_is_there_under_its_other_name() -> None:
    assert torch.npu.utils.get_cann_version is get_cann_version
