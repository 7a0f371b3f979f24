"""The `softcann` command: run a program with softcann as its CANN.

softcann run -- COMMAND      run COMMAND in that environment
source "$(softcann env)"     the same for the current shell
softcann doctor              what is installed, what conflicts, and what to do about it
"""

from __future__ import annotations

import argparse
import os
import sys

from softcann import environment, toolkit_path
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
    return _run(options.command)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="softcann", description="A software CANN: run Ascend programs without a card."
    )
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("env", help='print the script to source: source "$(softcann env)"')
    run = actions.add_parser("run", help="run a command with softcann as its CANN")
    run.add_argument("command", nargs=argparse.REMAINDER, help="-- COMMAND [ARGUMENT …]")
    actions.add_parser("doctor", help="say what is installed and what conflicts")
    return parser


def _missing_toolkit() -> str | None:
    script = toolkit_path() / "set_env.sh"
    if script.exists():
        return None
    return f"{script} does not exist. In a source checkout `make build` makes it."


def _run(command: list[str]) -> int:
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        print("softcann run: which command? softcann run -- COMMAND", file=sys.stderr)
        return 2
    try:
        os.execvpe(command[0], command, environment())
    except OSError as error:
        print(f"softcann run: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126


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
