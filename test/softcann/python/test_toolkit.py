"""The toolkit folder: what programs look for in a CANN installation."""

from __future__ import annotations

import platform
import subprocess

import pytest

import softcann

HOME = softcann.toolkit_path()


@pytest.mark.parametrize(
    "path",
    [
        *("set_env.sh", "version.info", "runtime", "compiler", "opp", "bin/npu-smi"),
        *("lib64/libascendcl.so", "lib64/libopapi.so"),
        *("include/acl/acl.h", "include/aclnn/acl_meta.h", "include/aclnnop/aclnn_add.h"),
    ],
)
def test_has_what_a_cann_installation_has(path: str) -> None:
    assert (HOME / path).exists()


def test_version_files_agree() -> None:
    install = HOME / f"{platform.machine()}-linux" / "ascend_toolkit_install.info"
    fields = dict(line.split("=", 1) for line in install.read_text().splitlines())
    for folder in (".", "runtime", "compiler", "opp"):
        lines = (HOME / folder / "version.info").read_text().splitlines()
        assert f"Version={fields['version']}" in lines


def test_npu_smi_lists_the_devices() -> None:
    done = subprocess.run(
        [str(HOME / "bin" / "npu-smi"), "info"],
        env=softcann.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "910B" in done.stdout
