"""`npu` beside native CPU PyTorch and, once `make test-official` has installed it, the official
torch_npu on the same softcann, in one run:

    python -m benchmarks.run [--device npu:0] [--only matmul] [--rounds 15] [--out build/bench]

Prints a table and writes it to `report.json`, and the cost of the import to `import.json`.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import torch

from benchmarks.case import Result, measure
from benchmarks.cases import CASES
from benchmarks.imports import import_cost
from benchmarks.official import OfficialWheel, official_python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="npu:0", help="compared with the CPU (default: npu:0)")
    parser.add_argument("--only", default="", help="only cases whose name has this in it")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--round-seconds", type=float, default=0.2)
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    python = official_python() if args.device == "npu:0" else None
    official = OfficialWheel(python) if python else None
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads; µs per call")
    print(f"units of the CPU for half precision: {', '.join(half_units()) or 'none'}\n")
    header = f"{'':36}{args.device:>12}{'cpu':>12}{'ratio':>8}"
    print(header + (f"{'official':>12}{'ratio':>8}" if official else ""))
    results = []
    for case in CASES:
        if args.only in case.name:
            if official:
                official.prepare(case.name)
            result = measure(case, args.device, args.rounds, args.round_seconds, official)
            print(line(result), flush=True)
            results.append(result)
    if official:
        official.close()
    write(args.out / "report.json", results)

    if args.device.startswith("npu"):
        cost = import_cost()
        print(f"\nimport torch_npu: {cost.seconds:.2f} s and {cost.megabytes:.0f} MB more")
        (args.out / "import.json").write_text(json.dumps(vars(cost), indent=2) + "\n")
    print(f"\nwritten: {args.out}/report.json")


def half_units() -> list[str]:
    """The CPU's instructions for float16 and bfloat16, by the names that PyTorch gives them."""
    capabilities = torch.cpu.get_capabilities()
    pattern = re.compile(r"((amx|avx512|avx10|arm|sve)_)?(bf16|fp16\w*)")
    return [name for name, has in capabilities.items() if has is True and pattern.fullmatch(name)]


def line(result: Result) -> str:
    """A row of the table: each ratio is of `npu` to what stands on its left."""
    text = f"{result.name:36}{result.npu_us:12.2f}{result.cpu_us:12.2f}{result.ratio:8.2f}"
    if result.official_us is None:
        return text
    return f"{text}{result.official_us:12.2f}{result.official_ratio:8.2f}"


def write(path: Path, results: list[Result]) -> None:
    """One object for each case: name, medians and ratios; without the official torch_npu its two
    entries are null."""
    rows = [
        {
            "name": r.name,
            "npu_us": r.npu_us,
            "cpu_us": r.cpu_us,
            "ratio": r.ratio,
            "official_us": r.official_us,
            "official_ratio": r.official_ratio,
        }
        for r in results
    ]
    path.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
