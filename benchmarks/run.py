"""`npu` beside native CPU PyTorch, in one run:

    python -m benchmarks.run [--device npu:0] [--only matmul] [--rounds 15] [--out build/bench]

Prints a table and writes it to `report.json`, and the cost of the import to `import.json`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from benchmarks import models, ops
from benchmarks.case import Result, measure
from benchmarks.imports import import_cost

CASES = [*ops.CASES, *models.CASES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="npu:0", help="compared with the CPU (default: npu:0)")
    parser.add_argument("--only", default="", help="only cases whose name has this in it")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--round-seconds", type=float, default=0.2)
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads; µs per call\n")
    print(f"{'':36}{args.device:>12}{'cpu':>12}{'ratio':>8}")
    results = []
    for case in CASES:
        if args.only in case.name:
            result = measure(case, args.device, args.rounds, args.round_seconds)
            print(f"{result.name:36}{result.npu_us:12.2f}{result.cpu_us:12.2f}{result.ratio:8.2f}")
            results.append(result)
    write(args.out / "report.json", results)

    if args.device.startswith("npu"):
        cost = import_cost()
        print(f"\nimport torch_npu: {cost.seconds:.2f} s and {cost.megabytes:.0f} MB more")
        (args.out / "import.json").write_text(json.dumps(vars(cost), indent=2) + "\n")
    print(f"\nwritten: {args.out}/report.json")


def write(path: Path, results: list[Result]) -> None:
    """One object for each case: name, both medians and their ratio."""
    rows = [
        {"name": r.name, "npu_us": r.npu_us, "cpu_us": r.cpu_us, "ratio": r.ratio} for r in results
    ]
    path.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
