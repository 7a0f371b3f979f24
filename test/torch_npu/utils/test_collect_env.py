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


@pytest.mark.covers("torch_npu.utils.collect_env.get_cann_version")
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


@pytest.mark.covers(
    "torch_npu.utils.collect_env.SystemEnv",
    "torch_npu.utils.collect_env.get_env_info",
    "torch_npu.utils.collect_env.get_pretty_env_info",
    "torch_npu.utils.collect_env.pretty_str",
    "torch_npu.utils.collect_env.main",
)
def test_report_names_the_versions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTORCH_NPU_ALLOC_CONF", "max_split_size_mb:64")
    collect_env.main()
    report = capsys.readouterr().out
    assert f"PyTorch: {torch.__version__}" in report
    assert f"torch_npu: {torch_npu.__version__}" in report
    assert f"npu devices: {torch.npu.device_count()}" in report
    assert "Allocator settings: max_split_size_mb:64" in report
    made = collect_env.SystemEnv(**dict.fromkeys(collect_env.SystemEnv._fields))
    assert "GCC: not known" in collect_env.pretty_str(made)


@pytest.mark.covers(
    "torch_npu.utils.collect_env.get_torch_npu_version",
    "torch_npu.utils.collect_env.get_torch_npu_install_path",
)
def test_package_knows_its_version_and_place() -> None:
    assert collect_env.get_torch_npu_version() == torch_npu.__version__
    path = Path(collect_env.get_torch_npu_install_path())
    assert path.samefile(Path(torch_npu.__file__).parent)


@pytest.mark.covers(
    "torch_npu.utils.collect_env.check_path_owner_consistent",
    "torch_npu.utils.collect_env.check_directory_path_readable",
)
def test_paths_of_others_and_links_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect_env.check_path_owner_consistent(str(tmp_path))
    collect_env.check_directory_path_readable(str(tmp_path))
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(RuntimeError, match="symbolic link"):
        collect_env.check_directory_path_readable(str(link))
    with pytest.raises(RuntimeError, match="does not exist"):
        collect_env.check_path_owner_consistent(str(tmp_path / "none"))
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(RuntimeError, match="owned by user"):
        collect_env.check_path_owner_consistent(str(tmp_path))
