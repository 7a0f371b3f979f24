"""The check of the CANN installation, each of its lines in a process of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torch_npu import __version__
from torch_npu._init.registry import registry_manager

_ENDING = re.compile(
    r"\n\[ERROR\] [\d:-]+ \(PID:\d+, Device:-1, RankID:-1\) ERR00008 PTA resource not found\n\Z"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder that looks like a complete CANN installation."""
    folder = tmp_path / "cann"
    for part in ("runtime", "compiler", "opp"):
        (folder / part).mkdir(parents=True)
    return folder


def _install_info(home: Path, version: str) -> None:
    folder = home / "x86_64-linux"
    folder.mkdir()
    (folder / "ascend_toolkit_install.info").write_text(
        f"package_name=toolkit\nversion={version}\n"
    )


def _assert_refused(result, variable: str, path: str) -> None:
    assert result.returncode == 1
    message = result.stderr[result.stderr.rindex("\nException: ") :]
    assert variable in message
    assert path in message
    assert "set_env.sh" in message
    assert _ENDING.search(message), message


def test_absent_home_is_refused(run_python, home: Path) -> None:
    absent = str(home / "nowhere")
    result = run_python(
        "import torch_npu", ASCEND_HOME_PATH=absent, ASCEND_OPP_PATH=str(home / "opp")
    )
    _assert_refused(result, "ASCEND_HOME_PATH", absent)


def test_unset_operator_path_is_refused(run_python, home: Path) -> None:
    result = run_python("import torch_npu", ASCEND_HOME_PATH=str(home))
    _assert_refused(result, "ASCEND_OPP_PATH is not set", str(home))


def test_absent_operator_path_is_refused(run_python, home: Path) -> None:
    absent = str(home / "no_opp")
    result = run_python("import torch_npu", ASCEND_HOME_PATH=str(home), ASCEND_OPP_PATH=absent)
    _assert_refused(result, "ASCEND_OPP_PATH", absent)


@pytest.mark.parametrize("part", ["runtime", "compiler"])
def test_home_without_a_part_is_refused(run_python, home: Path, part: str) -> None:
    (home / part).rmdir()
    result = run_python(
        "import torch_npu", ASCEND_HOME_PATH=str(home), ASCEND_OPP_PATH=str(home / "opp")
    )
    _assert_refused(result, "ASCEND_HOME_PATH", str(home / part))


def test_complete_installation_is_accepted_in_silence(run_python, home: Path) -> None:
    result = run_python(
        "import torch_npu", ASCEND_HOME_PATH=str(home), ASCEND_OPP_PATH=str(home / "opp")
    )
    assert (result.returncode, result.stdout) == (0, ""), result.stderr


def test_cann_of_another_release_is_warned_about(run_python, home: Path) -> None:
    _install_info(home, "6.3.RC2")
    result = run_python(
        "import torch_npu", ASCEND_HOME_PATH=str(home), ASCEND_OPP_PATH=str(home / "opp")
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Warning: ")
    assert "6.3.RC2" in result.stdout
    assert __version__ in result.stdout


def test_cann_that_is_not_listed_is_not_judged(run_python, home: Path) -> None:
    _install_info(home, "9.1.0")
    result = run_python(
        "import torch_npu", ASCEND_HOME_PATH=str(home), ASCEND_OPP_PATH=str(home / "opp")
    )
    assert (result.returncode, result.stdout) == (0, ""), result.stderr


def test_no_cann_is_a_warning_and_no_device(run_python) -> None:
    code = """
import torch, torch_npu
print(torch.npu.is_available(), torch.npu.device_count())
torch.zeros(1, device="npu")
"""
    result = run_python(code, SOFTNPU_CANN="none")
    assert result.stdout.splitlines() == [
        "Warning: ASCEND_HOME_PATH environment variable is not set.",
        "False 0",
    ], result.stderr
    assert "RuntimeError: NPU is not available" in result.stderr


def test_embedded_cann_passes_the_check_in_silence(run_python) -> None:
    code = "import os, torch_npu; print(os.environ['SOFTNPU_EMBEDDED_CANN'])"
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\n") == 1, result.stdout


def test_version_of_this_package_in_the_map_is_accepted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    _install_info(home, "6.3.RC2")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(home))
    monkeypatch.setenv("ASCEND_OPP_PATH", str(home / "opp"))
    monkeypatch.setitem(registry_manager.cann_pytorch_version_map, "6.3.RC2", [__version__])
    registry_manager._cann_package_check()
    assert capsys.readouterr().out == ""


def test_backend_is_not_registered_when_the_check_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    registered = []
    monkeypatch.setattr(registry_manager.backend, "register", lambda: registered.append(True))
    monkeypatch.setenv("ASCEND_HOME_PATH", "/nowhere")
    with pytest.raises(Exception, match="ASCEND_HOME_PATH is /nowhere"):
        registry_manager._register_npu_backend()
    assert registered == []


def test_map_lists_the_releases_that_name_their_cann() -> None:
    assert registry_manager.cann_pytorch_version_map == {
        "6.3.RC2": ["1.8.1.post2", "1.11.0.post1", "2.0.0.rc1"],
        "6.3.RC1": ["1.8.1.post1", "1.11.0"],
        "6.1.RC1": ["1.8.1.post1", "1.11.0"],
        "6.0.1": ["1.8.1", "1.11.0.rc2"],
        "6.0.RC1": ["1.8.1", "1.11.0.rc1"],
    }


def test_components_are_registered_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in (
        "_register_npu_backend",
        "_register_distributed_backend",
        "_register_rpc_backend",
        "_register_checkpoint_device_type",
    ):
        monkeypatch.setattr(registry_manager, name, lambda name=name: calls.append(name))
    registry_manager.register_all()
    assert calls == [
        "_register_npu_backend",
        "_register_distributed_backend",
        "_register_rpc_backend",
        "_register_checkpoint_device_type",
    ]
