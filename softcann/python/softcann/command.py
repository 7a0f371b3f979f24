"""The `softcann` command: run a program with softcann as its CANN.

softcann run -- COMMAND      run COMMAND in that environment
source "$(softcann env)"     the same for the current shell
softcann doctor              what is installed, what conflicts, and what to do about it
softcann coverage            which functions are implemented, which refuse, which are missing
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from typing import Any

from softcann import environment, preflight, toolkit_path
from softcann.doctor import examine


def main(arguments: list[str] | None = None) -> int:
    """Carries one command line out; returns the exit status."""
    options = _parser().parse_args(arguments)
    missing = _missing_toolkit()
    if missing and options.action != "doctor":
        print(f"softcann: {missing}", file=sys.stderr)
        return 1
    if options.action == "env":
        print(toolkit_path() / "set_env.sh")
        return 0
    if options.action == "doctor":
        return _doctor()
    if options.action == "coverage":
        return _coverage(options.json)
    return _run(options.command, checked=not options.unchecked)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="softcann", description="A software CANN: run Ascend programs without a card."
    )
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("env", help='print the script to source: source "$(softcann env)"')
    run = actions.add_parser("run", help="run a command with softcann as its CANN")
    run.add_argument("--unchecked", action="store_true", help="start it whatever stands against it")
    run.add_argument("command", nargs=argparse.REMAINDER, help="-- COMMAND [ARGUMENT …]")
    actions.add_parser("doctor", help="say what is installed and what conflicts")
    coverage = actions.add_parser("coverage", help="list what is implemented and what is not")
    coverage.add_argument("--json", action="store_true", help="the whole list, for programs")
    return parser


def _missing_toolkit() -> str | None:
    script = toolkit_path() / "set_env.sh"
    if script.exists():
        return None
    return f"{script} does not exist. In a source checkout `make build` makes it."


def _run(command: list[str], *, checked: bool) -> int:
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        print("softcann run: which command? softcann run -- COMMAND", file=sys.stderr)
        return 2
    if checked:
        for remark in preflight.remarks():
            print(f"softcann run: note: {remark}", file=sys.stderr)
        obstacles = preflight.obstacles()
        for obstacle in obstacles:
            print(f"softcann run: {obstacle}", file=sys.stderr)
        if obstacles:
            print("softcann run: not started; --unchecked starts it all the same", file=sys.stderr)
            return 1
    try:
        os.execvpe(command[0], command, environment())
    except OSError as error:
        print(f"softcann run: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126


def _coverage(as_json: bool) -> int:
    found: dict[str, Any] = preflight.coverage()
    if as_json:
        print(json.dumps(found, indent=1))
        return 0
    aclnn = found["aclnn"]
    known = aclnn["named"] - len(aclnn["missing"])
    print(f"aclnn functions: {len(aclnn['implemented'])} implemented.")
    print(f"Of the {aclnn['named']} that the official torch_npu names, {known} are, and not:")
    print(_paragraph(aclnn["missing"]))
    for library, names in found["refused"].items():
        print(f"{library}: {len(names)} functions are there and refuse:")
        print(_paragraph(names))
    return 0


def _paragraph(names: list[str]) -> str:
    text = ", ".join(names)
    return textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="  ")


def _doctor() -> int:
    findings = examine()
    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        mark = "ok" if finding.remedy is None else "!!"
        print(f"{mark}  {finding.subject:<{width}}  {finding.state}")
        if finding.remedy:
            print(f"    {'':<{width}}  → {finding.remedy}")
    return 1 if any(finding.remedy for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
