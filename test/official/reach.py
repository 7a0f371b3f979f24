"""Which aclnn functions Python reaches through the official wheel, with results equal to the CPU's.

    cd test && python -m official.reach ../build/official/venv-2.13.0/bin/python [--discover]

The interpreter is that of the environment which has the wheel. `functions.txt` names for each
function a case that reaches it; the cases are run and `build/official/functions.json` says which
functions ran in a case that equals the CPU. `--discover` runs everything there is to run and writes
`functions.txt` again, with as few cases as it takes.

Cases are `opinfo:…` and `foreach:…` (opinfo_cases.py), and `pytest:…`, a test of this project that
compares with the CPU or with a formula.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import softcann

HERE = Path(__file__).parent
TEST = HERE.parent
REACHED, UNREACHED = HERE / "functions.txt", HERE / "unreached.txt"
NAMED = TEST.parent / "softcann" / "interface" / "aclnn_functions.txt"
REPORT = TEST.parent / "build" / "official" / "functions.json"
# Tests that do without what only our own torch_npu has.
SUITES = ["torch_npu/operators", "torch_npu/optim", "official/calls"]

Result = dict[str, Any]


def read_list(path: Path) -> dict[str, str]:
    """Of each function, what the file says behind its name: a case, or why there is none."""
    lines = (line for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {name: rest for name, _, rest in (line.partition(" ") for line in lines)}


def environment(**more: str) -> dict[str, str]:
    return {
        **softcann.environment(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TASK_QUEUE_ENABLE": "0",
        "PYTHONPATH": str(TEST),
        **more,
    }


def run_samples(python: str, cases: list[str] | None) -> list[Result]:
    """PyTorch's samples; None for all that there are."""
    with tempfile.TemporaryDirectory() as folder:
        chosen, results = Path(folder) / "cases", Path(folder) / "results"
        chosen.write_text("\n".join(cases or []))
        results.touch()
        source = "all" if cases is None else str(chosen)
        command = [python, "-W", "ignore", "-m", "official.opinfo_cases", source, str(results)]
        variables = environment(SOFTCANN_TRACE=str(Path(folder) / "trace"))
        subprocess.run(command, env=variables, cwd=TEST, check=True)
        return [json.loads(line) for line in results.read_text().splitlines()]


def run_tests(python: str, tests: list[str], *, fork: bool = False) -> list[Result]:
    """Tests of pytest, by file or by name. Those that fail through the wheel reach nothing; with
    `fork` they leave the others alone."""
    if not tests:
        return []
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        results.touch()
        command = [python, "-W", "ignore", "-m", "pytest", "-q", "-p", "official.recorder"]
        command += ["-p", "no:cacheprovider", *tests]
        variables = environment(
            SOFTCANN_TRACE=str(Path(folder) / "trace"),
            SOFTNPU_FUNCTIONS=str(results),
            SOFTNPU_FORK="1" if fork else "",
        )
        done = subprocess.run(
            command, env=variables, cwd=TEST, capture_output=True, text=True, check=False
        )
        REPORT.parent.mkdir(parents=True, exist_ok=True)
        REPORT.with_suffix(".log").write_text(done.stdout + done.stderr)
        return [json.loads(line) for line in results.read_text().splitlines()]


def run(python: str, cases: set[str]) -> list[Result]:
    tests = sorted(case.removeprefix("pytest:") for case in cases if case.startswith("pytest:"))
    samples = sorted(case for case in cases if not case.startswith("pytest:"))
    return [*run_samples(python, samples), *run_tests(python, tests)]


def named() -> set[str]:
    """The aclnn functions that the wheel names and softcann implements."""
    aclnn = json.loads((softcann.toolkit_path() / "coverage.json").read_text())["aclnn"]
    return set(NAMED.read_text().split()) & set(aclnn["implemented"])


def reached(results: list[Result]) -> set[str]:
    """What ran in cases that equal the CPU."""
    return {name for result in results if result["equal"] for name in result["functions"]}


def report(results: list[Result]) -> Result:
    """Writes REPORT: the functions with a case each, and the cases that failed."""
    functions: dict[str, str] = {}
    for result in results:
        if result["equal"]:
            for name in result["functions"]:
                functions.setdefault(name, result["case"])
    failed = {r["case"]: r.get("reason", "") for r in results if not r["equal"]}
    found = {
        "reached_and_equal": dict(sorted(functions.items())),
        "implemented_and_not_reached": sorted(named() - functions.keys()),
        "failed": failed,
    }
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(found, indent=1) + "\n")
    return found


def choose(results: list[Result]) -> dict[str, str]:
    """A case for each function, and few cases: the next is the one that adds most."""
    open_cases = {r["case"]: set(r["functions"]) for r in results if r["equal"]}
    chosen: dict[str, str] = {}
    while open_cases:
        best = max(open_cases, key=lambda case: (len(open_cases[case] - chosen.keys()), case))
        new = open_cases.pop(best) - chosen.keys()
        if not new:
            break
        chosen.update(dict.fromkeys(new, best))
    return dict(sorted(chosen.items()))


def write_list(results: list[Result]) -> None:
    lines = ["# function, and a case that reaches it; written by `reach.py --discover`"]
    lines += [f"{name} {case}" for name, case in choose(results).items()]
    REACHED.write_text("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python")
    parser.add_argument("--discover", action="store_true")
    options = parser.parse_args()
    if options.discover:
        results = [
            *run_samples(options.python, None),
            *run_tests(options.python, SUITES, fork=True),
        ]
        write_list(results)
    else:
        results = run(options.python, set(read_list(REACHED).values()))
    found = report(results)
    print(f"{len(found['reached_and_equal'])} functions reached and equal; {REPORT}")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
