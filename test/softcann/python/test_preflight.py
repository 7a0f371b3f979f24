"""What `softcann run` says before it starts a program."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from softcann import elf, preflight, toolkit_path
from softcann.command import main


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "softcann.command", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def fake_package(folder: Path, name: str, version: str, *requirements: str) -> None:
    information = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
    )


@pytest.fixture
def only_official(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An installation whose torch-npu is made up by the test, and which has no softnpu."""
    real = preflight._installed
    hidden = {"torch-npu", "softnpu"}

    def installed(name: str) -> object:
        made = list(tmp_path.glob(f"{name.replace('-', '_')}-*.dist-info"))
        if made:
            return preflight.Distribution.at(made[0])
        return None if name in hidden else real(name)

    monkeypatch.setattr(preflight, "_installed", installed)
    monkeypatch.setattr(
        preflight, "distributions", lambda name: metadata.distributions(name=name, path=[tmp_path])
    )
    return tmp_path


def build_library(folder: Path, source: str) -> Path:
    path = folder / "torch_npu" / "lib" / "libtorch_npu.so"
    path.parent.mkdir(parents=True)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)],
        input=source,
        text=True,
        check=True,
    )
    return path


def test_this_installation_has_no_obstacle() -> None:
    assert preflight.obstacles() == []


def test_a_wheel_of_another_version_is_named_with_the_one_to_install(only_official: Path) -> None:
    fake_package(only_official, "torch-npu", "2.14.0")
    (obstacle,) = preflight.obstacles()
    assert "torch-npu 2.14.0 is installed" in obstacle
    assert f"pip install torch-npu=={preflight.served_torch()}" in obstacle


def test_metadata_that_softnpu_installs_is_no_second_package(only_official: Path) -> None:
    fake_package(only_official, "torch-npu", "2.13.0+soft0.1.0", "softnpu==0.1.0")
    fake_package(only_official, "softnpu", "0.1.0")
    assert preflight.official_package() is None
    assert preflight.obstacles() == []
    fake_package(only_official, "torch-npu", preflight.served_torch())
    assert any("both own the folder torch_npu" in text for text in preflight.obstacles())


def test_both_packages_are_too_many(only_official: Path) -> None:
    fake_package(only_official, "torch-npu", preflight.served_torch())
    fake_package(only_official, "softnpu", "0.1.0")
    assert any("both own the folder torch_npu" in text for text in preflight.obstacles())


def test_a_function_that_the_wheel_links_and_softcann_lacks_is_named(only_official: Path) -> None:
    fake_package(only_official, "torch-npu", preflight.served_torch())
    build_library(
        only_official,
        "int aclInit(const char*); int aclrtFlyToTheMoon(void); int elsewhere(void);"
        "int uses(void) { return aclInit(0) + aclrtFlyToTheMoon() + elsewhere(); }",
    )
    (obstacle,) = preflight.obstacles()
    assert "aclrtFlyToTheMoon" in obstacle
    assert "aclInit" not in obstacle
    assert "elsewhere" not in obstacle


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    known = preflight.coverage()
    with_more = {**known, "libraries": ["libascendcl.so", "libnowhere.so"]}
    monkeypatch.setattr(preflight, "coverage", lambda: with_more)
    assert any("lacks libnowhere.so" in text for text in preflight.obstacles())


def test_another_cann_on_the_path_is_noted_and_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "libascendcl.so").touch()
    done = command("run", "--", sys.executable, "-c", "", LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 0
    assert f"the CANN in {tmp_path} on LD_LIBRARY_PATH stands behind softcann" in done.stderr


def test_every_other_cann_is_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
        (folder / "libascendcl.so").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", os.pathsep.join(map(str, folders)))
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    remarks = preflight.remarks()
    for folder in folders:
        assert any(f"the CANN in {folder} on LD_LIBRARY_PATH" in remark for remark in remarks)
    assert any(f"ASCEND_HOME_PATH names, {tmp_path}, is replaced" in text for text in remarks)


def test_cards_and_their_driver_are_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("davinci0", "davinci1", "davinci_manager"):
        (tmp_path / name).touch()
    (tmp_path / "driver" / "lib64").mkdir(parents=True)
    monkeypatch.setattr(preflight, "_DEVICES", tmp_path)
    monkeypatch.setattr(preflight, "_DRIVER", tmp_path / "driver")
    remarks = preflight.remarks()
    assert any("2 Ascend card(s) in this machine are not used" in remark for remark in remarks)
    assert any(f"driver in {tmp_path / 'driver'} is not used" in remark for remark in remarks)


def start(monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[int, list[list[str]]]:
    """`softcann run` with something in the way; its status, and what it would have started."""
    started: list[list[str]] = []
    monkeypatch.setattr(preflight, "obstacles", lambda: ["this is in the way"])
    monkeypatch.setattr(os, "execvpe", lambda _, words, __: started.append(words) or 0)
    return main(["run", *options, "--", "program", "--flag"]) or 0, started


def test_nothing_is_started_with_an_obstacle_in_the_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(monkeypatch) == (1, [])
    said = capsys.readouterr().err
    assert "softcann run: this is in the way" in said
    assert "not started; --unchecked starts it all the same" in said


def test_unchecked_starts_it_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(monkeypatch, "--unchecked") == (0, [["program", "--flag"]])
    assert capsys.readouterr().err == ""


def test_every_library_exports_what_it_refuses() -> None:
    refused = preflight.coverage()["refused"]
    assert isinstance(refused, dict)
    assert "HcclAllReduce" in refused["libhccl.so"]
    for library, names in refused.items():
        defined = elf.read_symbols(toolkit_path() / "lib64" / library).defined
        assert set(names) <= defined, library


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.so"
    path.write_text("INPUT(other.so)")
    with pytest.raises(elf.ElfError, match=r"text\.so is not"):
        elf.read_symbols(path)


def test_coverage_lists_what_is_missing_and_what_refuses() -> None:
    done = command("coverage")
    assert done.returncode == 0
    assert "aclnn functions:" in done.stdout
    assert "aclnnAllGatherMatmul" in done.stdout
    assert "libhccl.so: " in done.stdout
