"""The wheel `softnpu` brings the metadata of the distribution `torch-npu`, and takes it away."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import importlib.util
import io
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import torch_npu

ROOT = Path(__file__).parents[2]
VERSION = torch_npu.__version__


@pytest.fixture(scope="module")
def back_end() -> ModuleType:
    """The back end that pyproject.toml names."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    (folder,) = settings["backend-path"]
    path = ROOT / folder / f"{settings['build-backend']}.py"
    specification = importlib.util.spec_from_file_location(settings["build-backend"], path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def make_wheel(folder: Path, name: str, version: str) -> Path:
    """A wheel with the package torch_npu in it and nothing else."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    information = f"{name}-{version}.dist-info"
    files = {
        "torch_npu/__init__.py": f"origin = {name!r}\n",
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{information}/RECORD"] = "".join(f"{file},,\n" for file in files) + (
        f"{information}/RECORD,,\n"
    )
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return path


class Environment:
    """A virtual environment without anything in it."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
        subprocess.run(command, check=True)
        self.python = folder / "bin" / "python"

    def pip(self, *arguments: str, code: int = 0) -> str:
        """What pip says to these arguments, and ends with `code`."""
        command = [sys.executable, "-m", "pip", "--python", str(self.python), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def run(self, code: str) -> str:
        command = [str(self.python), "-I", "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def installed(self) -> list[str]:
        return sorted(path.name for path in self.python.parents[1].glob("lib/*/site-packages/*"))


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "environment")


@pytest.fixture
def wheel(tmp_path: Path, back_end: ModuleType) -> Path:
    path = make_wheel(tmp_path / "wheels", "softnpu", "0.1.0")
    back_end.add_distribution(path, VERSION)
    return path


@pytest.mark.parametrize("name", ["torch_npu", "torch-npu", "Torch.NPU"])
def test_this_environment_has_the_distribution(name: str) -> None:
    assert importlib.metadata.version(name) == VERSION
    assert importlib.metadata.metadata(name)["Name"] == "torch-npu"
    assert "torch-npu" in importlib.metadata.packages_distributions()["torch_npu"]


def test_this_environment_is_consistent() -> None:
    command = [sys.executable, "-m", "pip", "check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "npu" not in done.stdout, done.stdout


def test_installed_wheel_answers_for_both_names(environment: Environment, wheel: Path) -> None:
    environment.pip("install", "--no-index", str(wheel))
    asked = environment.run(
        "import importlib.metadata as m\n"
        "print(m.version('torch_npu'), m.version('torch-npu'), m.version('softnpu'))\n"
        "print(sorted(m.packages_distributions()['torch_npu']))\n"
    )
    assert asked.splitlines() == [f"{VERSION} {VERSION} 0.1.0", "['softnpu', 'torch-npu']"]
    assert "No broken requirements" in environment.pip("check")


def test_a_requirement_of_torch_npu_is_satisfied(environment: Environment, wheel: Path) -> None:
    environment.pip("install", "--no-index", str(wheel))
    release = VERSION.partition("+")[0]
    for requirement in ("torch-npu", f"torch_npu=={release}"):
        assert "already satisfied" in environment.pip("install", "--no-index", requirement)


def test_uninstalling_takes_everything_away(environment: Environment, wheel: Path) -> None:
    before = environment.installed()
    environment.pip("install", "--no-index", str(wheel))
    assert f"torch_npu-{VERSION}.dist-info" in environment.installed()
    environment.pip("uninstall", "-y", "softnpu")
    assert environment.installed() == before


def test_pip_does_not_put_another_torch_npu_over_it(
    environment: Environment, wheel: Path, tmp_path: Path
) -> None:
    other = make_wheel(tmp_path / "others", "torch_npu", "9.0.0")
    environment.pip("install", "--no-index", str(wheel))
    said = environment.pip("install", "--no-index", str(other), code=1)
    assert "installed by softnpu" in said
    assert environment.run("import torch_npu; print(torch_npu.origin)") == "softnpu\n"


def test_remedy_for_two_packages_leaves_none(
    environment: Environment, wheel: Path, tmp_path: Path
) -> None:
    before = environment.installed()
    other = make_wheel(tmp_path / "others", "torch_npu", "2.13.0")
    environment.pip("install", "--no-index", str(other))
    environment.pip("install", "--no-index", str(wheel))
    assert len([name for name in environment.installed() if name.startswith("torch_npu-")]) == 2
    environment.pip("uninstall", "-y", "softnpu", "torch-npu")
    assert environment.installed() == before


def test_record_lists_what_was_added(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        record = opened.read("softnpu-0.1.0.dist-info/RECORD").decode()
        rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(record))}
        assert list(rows) == opened.namelist()
        added = [name for name in rows if ".data/" in name]
        assert len(added) == 3
        for name in added:
            data = opened.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert rows[name] == [f"sha256={digest}", str(len(data))]


def test_development_install_has_it_too(tmp_path: Path, environment: Environment) -> None:
    code = (
        "import sys; sys.path.insert(0, 'cmake'); import softnpu_build\n"
        "settings = {'editable.mode': 'inplace', 'wheel.cmake': 'false',"
        " 'wheel.packages': 'torch_npu'}\n"
        "print(softnpu_build.build_editable(sys.argv[1], settings))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    environment.pip("install", "--no-index", "--no-deps", str(tmp_path / built.stdout.split()[-1]))
    code = "import importlib.metadata as m; print(m.version('torch_npu'))"
    assert environment.run(code) == f"{VERSION}\n"
    environment.pip("uninstall", "-y", "softnpu")
    assert not [name for name in environment.installed() if "npu" in name]
