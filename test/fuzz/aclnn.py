"""Random arguments for phase one of every aclnn function of the table, through the C interface.

    cd test && python -m fuzz.aclnn --draws 4

Phase one answers with one of CANN's codes and, unless it takes the call, a text that names the
function; the process lives on. Each function's draws have a seed of their own, made of its name.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import random
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

from conformance.processes import At, Job, Pool
from conformance.samples import seed_for
from fuzz import phase_one

from operators import generate, schema

ROOT = Path(__file__).parents[2]
# Taken; a missing or wrong argument; an operator, or a combination of arguments, that is not
# supported; an inner error that says so.
CODES = {0, 161001, 161002, 361001, 561000, 561002, 561103}
DTYPES = ("float32", "float16", "float64", "int32", "int64", "uint8", "bool", "complex64")
WORDS = ("none", "BSH", "TND", "mean", "round", "no_such_word")
NUMBERS = {
    "bool": ("true", "false"),
    "double": ("0.0", "-1.5", "0.5", "1.0e30", "nan", "inf"),
    "float": ("0.0", "-1.5", "0.5", "1.0e30", "nan", "inf"),
    "Scalar": ("0", "-1", "2", "0.5", "nan", "true", "2.0j"),
    "uint64": ("0", "1", "2", "5", "100"),
    "int": ("-3", "-1", "0", "1", "2", "100"),
}
ELEMENTS = {
    "bool": ("0", "1"),
    "float": ("0.5", "-1.0", "nan"),
    "Scalar": ("0", "0.5", "true"),
    "int": ("-1", "0", "1", "2", "100"),
}


class Draw:
    """One call's arguments. In half of the calls all tensors have one dtype, in a quarter also one
    shape: what agrees gets further."""

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator
        self._dtype = generator.choice(DTYPES) if generator.random() < 0.5 else None
        self._sizes = self._draw_sizes() if generator.random() < 0.5 else None

    def argument(self, kind: str) -> str:
        base = kind.rstrip("!?~[]")
        if "?" in kind and kind != "dtype?" and self._generator.random() < 0.5:
            return "null"
        if kind in ("int?", "double?", "bool?"):  # a scalar, whatever it holds
            return self._one("Scalar")
        if "[]" not in kind:
            return self._one(base)
        count = self._generator.randrange(4)
        if base == "Tensor":
            return f"({'|'.join(self._tensor() for _ in range(count))})"
        numbers = (self._generator.choice(ELEMENTS[base]) for _ in range(max(1, count)))
        return "{" + ",".join(numbers) + "}"

    def _one(self, base: str) -> str:
        if base == "Tensor":
            return self._tensor()
        if base == "dtype":
            return self._generator.choice(DTYPES)
        if base == "str":
            return self._generator.choice(WORDS)
        return self._generator.choice(NUMBERS.get(base, NUMBERS["int"]))

    def _draw_sizes(self) -> str:
        sizes = [
            self._generator.choice((0, 1, 2, 3, 4)) for _ in range(self._generator.randrange(6))
        ]
        return ",".join(map(str, sizes))

    def _tensor(self) -> str:
        dtype = self._dtype or self._generator.choice(DTYPES)
        sizes = self._draw_sizes() if self._sizes is None else self._sizes
        return f"{dtype}[{sizes}]"


@dataclasses.dataclass(frozen=True)
class Unit:
    function: str
    kinds: tuple[str, ...]
    draws: int
    device: str = "npu"

    def calls(self) -> list[str]:
        generator = random.Random(seed_for(self.function))
        drawn = []
        for _ in range(self.draws):
            draw = Draw(generator)
            drawn.append(" ".join(map(draw.argument, self.kinds)))
        return drawn


def run_unit(unit: Unit, left_out: frozenset[int], connection: Connection) -> list[str]:
    wrong = []
    for index, arguments in enumerate(unit.calls()):
        if index in left_out:
            continue
        connection.send(At(index, unit.device))
        status, message = phase_one.call(unit.function, arguments)
        if status not in CODES or (status != 0 and unit.function not in message):
            wrong.append(f"{unit.function} {arguments}: {status} {message}")
    return wrong


class Runner(Pool):
    def __init__(self, units: list[Unit], workers: int, timeout: float, folder: Path) -> None:
        self.wrong: list[str] = []
        super().__init__(units, workers, timeout, folder / "aclnn_workers.log", run_unit)

    def title(self, unit: Unit) -> str:
        return unit.function

    def finish(self, job: Job, result: list[str] | None) -> None:
        calls = job.unit.calls()
        for sample, what in job.deaths.items():
            self.wrong.append(f"{job.unit.function} {calls[sample]}: {what}")
        self.wrong += result or []


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="fuzz.aclnn", description=__doc__)
    parser.add_argument("--draws", type=int, default=4, help="calls of each function")
    parser.add_argument("--function", default="*", help="a pattern, e.g. 'aclnnAdd*'")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one call")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz")
    options = parser.parse_args(arguments)
    start = time.monotonic()
    units = [
        Unit(row.function, tuple(p.type for p in row.parameters), options.draws)
        for row in schema.load(generate.ROOT / "table")
        if fnmatch.fnmatchcase(row.function, options.function)
    ]
    runner = Runner(units, options.workers, options.timeout, options.out)
    runner.run()
    for one in runner.wrong:
        print(f"not expected: {one}")
    print(
        f"{len(units)} functions, {len(units) * options.draws} calls, {len(runner.wrong)} wrong;"
        f" {time.monotonic() - start:.0f} s"
    )
    return 1 if runner.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
