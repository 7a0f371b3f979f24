"""The environment variables of the embedded softcann."""

from __future__ import annotations

import subprocess

import pytest

import softcann
from torch_npu._init.core import embedded_cann

_TOOLKIT = str(softcann.toolkit_path())


def test_sets_the_variables_of_cann_that_set_env_sh_sets() -> None:
    environment = {"PATH": "/usr/bin:/bin"}
    assert embedded_cann.configure(environment) == _TOOLKIT
    assert environment.pop(embedded_cann.MARK_VARIABLE) == _TOOLKIT
    shell = subprocess.run(
        ["bash", "-c", f"source '{_TOOLKIT}/set_env.sh' && env"],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    sourced = dict(line.split("=", 1) for line in shell.stdout.splitlines())
    expected = {name: value for name, value in sourced.items() if name.startswith("ASCEND_")}
    assert "ASCEND_HOME_PATH" in expected
    assert environment == {"PATH": "/usr/bin:/bin", **expected}


def test_configured_cann_is_left_alone() -> None:
    environment = {"ASCEND_HOME_PATH": "/opt/cann", "PATH": "/bin"}
    assert embedded_cann.configure(environment) is None
    assert environment == {"ASCEND_HOME_PATH": "/opt/cann", "PATH": "/bin"}


def test_switch_turns_it_off() -> None:
    environment = {"SOFTNPU_CANN": "none"}
    assert embedded_cann.configure(environment) is None
    assert environment == {"SOFTNPU_CANN": "none"}


def test_other_value_of_the_switch_is_named() -> None:
    with pytest.raises(ValueError, match="SOFTNPU_CANN is 'nonne'"):
        embedded_cann.configure({"SOFTNPU_CANN": "nonne"})


def test_child_does_not_take_the_parents_for_a_configured_cann() -> None:
    environment = {"PATH": "/bin"}
    embedded_cann.configure(environment)
    inherited = dict(environment)
    assert embedded_cann.configure(environment) == _TOOLKIT
    assert environment == inherited


def test_child_that_switches_it_off_gets_a_clean_environment() -> None:
    environment = {"PATH": "/bin"}
    embedded_cann.configure(environment)
    environment["SOFTNPU_CANN"] = "none"
    assert embedded_cann.configure(environment) is None
    assert environment == {"PATH": "/bin", "SOFTNPU_CANN": "none"}


def test_child_with_a_cann_of_its_own_keeps_it() -> None:
    environment = {"PATH": "/bin"}
    embedded_cann.configure(environment)
    environment["ASCEND_HOME_PATH"] = "/opt/cann"
    assert embedded_cann.configure(environment) is None
    assert environment["ASCEND_HOME_PATH"] == "/opt/cann"
    assert embedded_cann.MARK_VARIABLE not in environment
