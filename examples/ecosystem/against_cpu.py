"""What the examples of this folder share: each trains on `npu` and checks itself against the CPU.

An example hands its training function to `main()`, which runs it on `npu` here and on the CPU in a
process of its own, because libraries such as accelerate keep the device that they chose first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch


@dataclass
class Outcome:
    """What a training has shown: the loss of each step, and what the trained model answers."""

    losses: list[float]
    answers: list[float]


Train = Callable[[str], Outcome]


def main(train: Train, tolerance: float = 1e-4) -> None:
    """Runs `train("npu")` and `train("cpu")`, prints a report and ends the process.

    The exit status is 1 where the loss has not halved, where a loss or an answer differs from the
    CPU's by more than `tolerance` (absolute, and relative to the CPU's), or where an operator ran
    on the CPU because `npu` has no kernel for it. `--device cpu` trains there only.
    """
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--device", choices=("npu", "cpu"), default="npu")
    parser.add_argument("--out", type=Path, help="a JSON file for the report")
    arguments = parser.parse_args()

    if arguments.device == "cpu":
        report = asdict(train("cpu"))
        faults = []
    else:
        with tempfile.TemporaryDirectory() as folder:
            cpu_report = Path(folder) / "cpu.json"
            cpu_run = _start_on_cpu(cpu_report)
            try:
                npu = train("npu")
            except BaseException:
                cpu_run.kill()
                raise
            finally:
                code = cpu_run.wait()
            if code:
                sys.exit(f"the training on the CPU ended with status {code}")
            cpu = Outcome(**json.loads(cpu_report.read_text()))
        fallbacks = torch.npu.fallback_counts()
        faults = _faults(npu, cpu, fallbacks, tolerance)
        report = {
            **asdict(npu),
            "greatest_difference": _greatest_difference(npu, cpu),
            "fallbacks": fallbacks,
            "faults": faults,
        }
    if arguments.out:
        arguments.out.write_text(json.dumps(report, indent=2) + "\n")
    print(f"loss {report['losses'][0]:.4f} → {report['losses'][-1]:.4f} on {arguments.device}")
    if arguments.device == "npu":
        print(f"greatest difference from the CPU: {report['greatest_difference']:.1e}")
    for fault in faults:
        print(f"fault: {fault}", file=sys.stderr)
    sys.exit(bool(faults))


def _start_on_cpu(report: Path) -> subprocess.Popen[bytes]:
    # All that this process was started with, a launcher included; of an option given twice, the
    # last counts.
    command = [sys.executable, *sys.orig_argv[1:], "--device", "cpu", "--out", str(report)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def _pairs(npu: Outcome, cpu: Outcome) -> list[tuple[float, float]]:
    return [
        *zip(npu.losses, cpu.losses, strict=True),
        *zip(npu.answers, cpu.answers, strict=True),
    ]


def _greatest_difference(npu: Outcome, cpu: Outcome) -> float:
    return max(abs(ours - theirs) for ours, theirs in _pairs(npu, cpu))


def _faults(npu: Outcome, cpu: Outcome, fallbacks: dict[str, int], tolerance: float) -> list[str]:
    faults = []
    if not npu.losses[-1] < npu.losses[0] / 2:
        faults.append(f"the loss went from {npu.losses[0]} to {npu.losses[-1]}")
    different = [
        (ours, theirs)
        for ours, theirs in _pairs(npu, cpu)
        # Written so that a NaN is different.
        if not abs(ours - theirs) <= tolerance * (1 + abs(theirs))
    ]
    if different:
        faults.append(f"{len(different)} values differ, such as (npu, cpu) {different[0]}")
    if fallbacks:
        faults.append(f"operators that ran on the CPU: {fallbacks}")
    return faults
