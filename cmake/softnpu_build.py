"""The build back end of the wheel `softnpu`: scikit-build-core's, and one thing more.

Programs ask `importlib.metadata` whether the distribution `torch_npu` is installed, and of which
version. They may ask before they import anything, so the answer has to lie on the disk: the wheel
carries the metadata of a second distribution, `torch-npu`, which says that `softnpu` provides it.

A wheel may have one `.dist-info` folder at its top. The second lies in its `.data` folder, from
where every installer puts it beside the first. It is in the wheel's RECORD and has none of its
own: `pip uninstall softnpu` takes it away, and pip refuses to replace it by Ascend's wheel.
"""

from __future__ import annotations

import base64
import csv
import email
import hashlib
import io
import runpy
import zipfile
from pathlib import Path
from typing import Any

from scikit_build_core import build as scikit_build
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

_VERSION_FILE = Path(__file__).parents[1] / "torch_npu" / "version.py"


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Builds the wheel and returns its file name (PEP 517)."""
    name = scikit_build.build_wheel(wheel_directory, config_settings, metadata_directory)
    add_distribution(Path(wheel_directory, name), package_version())
    return name


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Builds the wheel of a development install and returns its file name (PEP 660)."""
    name = scikit_build.build_editable(wheel_directory, config_settings, metadata_directory)
    add_distribution(Path(wheel_directory, name), package_version())
    return name


def package_version() -> str:
    """The version that `torch_npu.__version__` states; `torch_npu` is not imported."""
    version: str = runpy.run_path(str(_VERSION_FILE))["__version__"]
    return version


def add_distribution(wheel: Path, version: str) -> None:
    """Adds the metadata of the distribution `torch-npu` of that version to a wheel file."""
    with zipfile.ZipFile(wheel) as before:
        (record,) = (name for name in before.namelist() if name.endswith(".dist-info/RECORD"))
        information = record.removesuffix("/RECORD")
        owner = email.message_from_bytes(before.read(f"{information}/METADATA"))
        folder = information.removesuffix(".dist-info") + f".data/platlib/torch_npu-{version}"
        files = {
            f"{folder}.dist-info/{name}": text.encode()
            for name, text in _files(owner["Name"], owner["Version"], version).items()
        }
        rows = list(csv.reader(io.StringIO(before.read(record).decode())))
        rows[-1:-1] = [_row(name, data) for name, data in files.items()]
        changed = wheel.with_suffix(".changed")
        with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as after:
            for item in before.infolist():
                if item.filename != record:
                    after.writestr(item, before.read(item))
            for name, data in files.items():
                after.writestr(_like(before.getinfo(record), name), data)
            after.writestr(before.getinfo(record), _text(rows))
    changed.replace(wheel)


def _files(owner: str, owner_version: str, version: str) -> dict[str, str]:
    """The files of the second `.dist-info` folder. Its requirement tells whose it is."""
    metadata = f"""Metadata-Version: 2.1
Name: torch-npu
Version: {version}
Summary: The package torch_npu, provided by {owner}
Requires-Dist: {owner}=={owner_version}

The package torch_npu of this environment belongs to the distribution {owner}.
"""
    return {"METADATA": metadata, "INSTALLER": f"{owner}\n", "top_level.txt": "torch_npu\n"}


def _row(name: str, data: bytes) -> list[str]:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return [name, f"sha256={digest}", str(len(data))]


def _text(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _like(item: zipfile.ZipInfo, name: str) -> zipfile.ZipInfo:
    """An entry with the date and the rights of another, so that builds stay reproducible."""
    made = zipfile.ZipInfo(name, item.date_time)
    made.external_attr = item.external_attr
    made.compress_type = item.compress_type
    return made
