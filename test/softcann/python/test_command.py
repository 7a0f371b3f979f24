"""The `softcann` command, each in a process of its own as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import softcann

PRINT_ENVIRONMENT = "import os; print('\\n'.join(f'{k}={v}' for k, v in os.environ.items()))"
# Set by shells themselves.
SHELL_VARIABLES = {"PS1", "_", "SHLVL", "PWD", "OLDPWD"}


def clean_environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND", "LD_LIB", "SOFT"))}
    return {**kept, **more}


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "softcann.command", *arguments],
        env=clean_environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )


def parse(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name: value for name, _, value in pairs if name not in SHELL_VARIABLES}


def test_run_sets_what_sourcing_set_env_sets() -> None:
    before = {"LD_LIBRARY_PATH": "/elsewhere/lib", "PYTHONPATH": "/elsewhere/python"}
    ran = command("run", "--", sys.executable, "-c", PRINT_ENVIRONMENT, **before)
    script = command("env").stdout.strip()
    source = f'source "{script}"; source "{script}"; "{sys.executable}" -c "{PRINT_ENVIRONMENT}"'
    sourced = subprocess.run(
        ["bash", "-euc", source],
        env=clean_environment(**before),
        capture_output=True,
        text=True,
        check=True,
    )
    assert parse(ran.stdout) == parse(sourced.stdout)


def test_run_puts_the_toolkit_in_front_of_another_cann() -> None:
    home = softcann.toolkit_path()
    variables = {"ASCEND_HOME_PATH": "/other", "LD_LIBRARY_PATH": f"/other/lib64:{home}/lib64"}
    done = command("run", "--", sys.executable, "-c", PRINT_ENVIRONMENT, **variables)
    seen = parse(done.stdout)
    assert seen["ASCEND_HOME_PATH"] == str(home)
    assert seen["LD_LIBRARY_PATH"].split(":")[:2] == [f"{home}/lib64", "/other/lib64"]


def test_run_passes_arguments_and_the_exit_status_through() -> None:
    done = command("run", "--", "sh", "-c", "echo $0 $1; exit 7", "--flag", "two words")
    assert done.stdout == "--flag two words\n"
    assert done.returncode == 7


@pytest.mark.parametrize("arguments", [("run",), ("run", "--")])
def test_run_without_a_command_says_how_it_is_used(arguments: tuple[str, ...]) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert "softcann run -- COMMAND" in done.stderr


def test_run_names_a_command_that_does_not_exist() -> None:
    done = command("run", "--", "no-such-program")
    assert done.returncode == 127
    assert "no-such-program" in done.stderr


def test_environment_leaves_the_callers_alone() -> None:
    before = dict(os.environ)
    assert softcann.environment({"HOME": "/h"})["HOME"] == "/h"
    assert dict(os.environ) == before


def test_doctor_is_content_with_this_installation() -> None:
    done = command("doctor")
    assert done.returncode == 0, done.stdout
    assert "8 imitated" in done.stdout


def test_doctor_names_another_cann_and_the_remedy(tmp_path: Path) -> None:
    done = command("doctor", ASCEND_HOME_PATH=str(tmp_path))
    assert done.returncode == 1
    assert f"ASCEND_HOME_PATH is {tmp_path}" in done.stdout
    assert "softcann run --" in done.stdout


def test_doctor_sees_a_library_that_would_be_found_first(tmp_path: Path) -> None:
    (tmp_path / "libascendcl.so").touch()
    done = command("doctor", LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 1
    assert f"LD_LIBRARY_PATH has {tmp_path} in front" in done.stdout
