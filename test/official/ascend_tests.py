"""Ascend's own tests, from a checkout beside this project, with a torch_npu on softcann.

usage: ascend_tests.py FOLDER [--python PYTHON] [--queue 0] [--only PATTERN] [--out FOLDER]

FOLDER holds test_*.py files, such as test/npu of github.com/Ascend/pytorch at the tag that fits the
wheel. Each file has a process of its own, started again behind a case that crashes or takes longer
than its limit. Prints the counts, and differences from ascend_failures.txt: exit status 1 if a case
fails that this does not name, or passes though it does. Nothing is written into FOLDER.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import softcann

HERE = Path(__file__).parent
Outcome = dict[str, str]
Expected = dict[str, tuple[str, str]]

# An entry's kind. `graph` cases capture graphs, which softcann refuses; they are counted apart, as
# those that skip themselves are. Where the refusal is what a case ends with, it needs no entry.
KINDS = {"fails", "graph"}
CAPTURE_REFUSED = "softcann: graphs cannot be captured yet"


def read_expected(path: Path) -> Expected:
    """{file::case: (kind, reason)} from lines `file::case kind reason`; # starts a comment."""
    expected = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, kind, reason = line.split(None, 2)
            if kind not in KINDS:
                raise ValueError(f"{path}: no such kind: {line}")
            expected[name] = (kind, reason)
    return expected


def run_worker(command: list[str], notes: Path, limit: float, environment: dict[str, str]) -> str:
    """Why the worker ended: '' in order, else 'crash …' or 'timeout'.

    A case has `limit` seconds, and so has the import.
    """
    log = notes.with_suffix(".log")
    with log.open("a") as output:
        worker = subprocess.Popen(
            command,
            env=environment,
            cwd=notes.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        size, changed = -1, time.monotonic()
        while True:
            try:
                status = worker.wait(timeout=1)
                return "" if status == 0 else f"crash {status}"
            except subprocess.TimeoutExpired:
                pass
            if notes.stat().st_size != size:
                size, changed = notes.stat().st_size, time.monotonic()
            if time.monotonic() - changed > limit:
                os.killpg(worker.pid, 9)
                worker.wait()
                return "timeout"


def run_file(file: Path, python: str, out: Path, limit: float, queue: str) -> dict[str, Outcome]:
    """The outcome of every case of the file."""
    work = out / file.stem
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    notes = work / "notes.jsonl"
    notes.touch()
    environment = {
        **softcann.environment(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TASK_QUEUE_ENABLE": queue,
        # Cases allocate half of a device's memory, and more than all of it.
        "SOFTCANN_DEVICE_MEMORY": "8G",
        # Cases start `python`.
        "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}",
    }
    command = [python, "-W", "ignore", str(HERE / "ascend_worker.py"), str(file), str(notes)]
    while True:
        ended = run_worker(command, notes, limit, environment)
        outcomes = {}
        for line in notes.read_text().splitlines():
            note = json.loads(line)
            outcomes[note["case"]] = note
        halted = [case for case, note in outcomes.items() if note["outcome"] == "started"]
        if not halted:
            break
        with notes.open("a") as lines:
            for case in halted:
                note = {"case": case, "outcome": "failed", "message": ended or "exit"}
                lines.write(json.dumps(note) + "\n")
                outcomes[case] = note
    if ended and not outcomes:
        tail = (work / "notes.log").read_text()[-2000:]
        outcomes["import"] = {"case": "import", "outcome": "failed", "message": f"{ended}\n{tail}"}
    return {f"{file.stem}::{case}": note for case, note in outcomes.items()}


def captures_graph(name: str, note: Outcome, expected: Expected) -> bool:
    kind, _ = expected.get(name, ("", ""))
    return kind == "graph" or CAPTURE_REFUSED in note["message"]


def report(outcomes: dict[str, Outcome], expected: Expected) -> int:
    """Prints counts and differences, and gives the exit status."""
    for name, note in outcomes.items():
        if note["outcome"] == "failed" and captures_graph(name, note, expected):
            note["outcome"] = "graph"
    counts = collections.Counter(note["outcome"] for note in outcomes.values())
    counts["passed"] += counts.pop("expected", 0)
    failed = {name for name, note in outcomes.items() if note["outcome"] == "failed"}
    counted = counts["passed"] + counts["failed"]
    share = 100 * counts["passed"] / max(counted, 1)
    print(
        f"{counts['passed']} of {counted} cases pass ({share:.1f} %); "
        f"{counts['skipped']} skip themselves, {counts['graph']} capture graphs"
    )
    new = sorted(name for name in failed if expected.get(name, ("",))[0] != "fails")
    mended = sorted(
        name
        for name, (kind, _) in expected.items()
        if kind == "fails"
        and name in outcomes
        and outcomes[name]["outcome"] in ("passed", "expected")
    )
    for name in new:
        print(f"fails, not expected: {name}\n    {last_line(outcomes[name]['message'])}")
    for name in mended:
        print(f"passes, though expected to fail: {name}")
    return 1 if new or mended else 0


def last_line(message: str) -> str:
    lines = [line for line in message.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--python",
        type=lambda path: str(Path(path).absolute()),  # workers have another working directory
        default=os.environ.get("SOFTNPU_OFFICIAL_PYTHON", sys.executable),
    )
    parser.add_argument("--queue", default="0", choices=["0", "1", "2"])
    parser.add_argument("--only", default="test_*", help="a glob of file names without .py")
    parser.add_argument("--limit", type=float, default=300, help="seconds a case may take")
    parser.add_argument("--expected", type=Path, default=HERE / "ascend_failures.txt")
    parser.add_argument(
        "--resume", action="store_true", help="keep the outcomes of files that an earlier run ended"
    )
    parser.add_argument("--out", type=Path, default=Path("build/official/ascend"))
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    saved = out / "outcomes.json"
    kept = arguments.resume and saved.exists()
    by_file: dict[str, dict[str, Outcome]] = json.loads(saved.read_text()) if kept else {}
    files = sorted(arguments.folder.resolve().glob(f"{arguments.only}.py"))
    if not files:
        parser.error(f"no file {arguments.only}.py in {arguments.folder}")
    for file in files:
        if file.stem in by_file:
            continue
        found = run_file(file, arguments.python, out, arguments.limit, arguments.queue)
        by_file[file.stem] = found
        bad = sum(note["outcome"] == "failed" for note in found.values())
        print(f"{file.stem}: {len(found) - bad} of {len(found)}", flush=True)
        saved.write_text(json.dumps(by_file, indent=1))
    outcomes = {name: note for found in by_file.values() for name, note in found.items()}
    return report(outcomes, read_expected(arguments.expected))


if __name__ == "__main__":
    sys.exit(main())
