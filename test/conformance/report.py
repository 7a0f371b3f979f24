"""The report of a run, what of it was expected, and its summary."""

from __future__ import annotations

import dataclasses
import fnmatch
import json
from collections import Counter
from pathlib import Path

from .kinds import KINDS
from .routes import FALLBACK


@dataclasses.dataclass(frozen=True)
class Record:
    """What one kind of one entry and dtype came to, of the samples that took one route."""

    operator: str
    variant: str
    dtype: str
    kind: str
    samples: int
    passed: int
    route: str
    reason: str

    @property
    def full_name(self) -> str:
        return f"{self.operator}.{self.variant}" if self.variant else self.operator

    @property
    def title(self) -> str:
        return f"{self.full_name} {self.kind} {self.dtype}"


@dataclasses.dataclass(frozen=True)
class Expectation:
    """A line of expected_failures.txt: patterns for operator, kind and dtype, and the reason."""

    operator: str
    kind: str
    dtype: str
    reason: str

    def covers(self, record: Record) -> bool:
        return (
            fnmatch.fnmatchcase(record.full_name, self.operator)
            and fnmatch.fnmatchcase(record.kind, self.kind)
            and fnmatch.fnmatchcase(record.dtype, self.dtype)
        )


def read_expectations(path: Path) -> list[Expectation]:
    expectations = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split(maxsplit=3)
        if len(fields) != 4:
            raise ValueError(f"{path.name}:{number}: expected operator, kind, dtype and reason")
        expectations.append(Expectation(*fields))
    return expectations


def unexpected(records: list[Record], expectations: list[Expectation]) -> list[Record]:
    """What did not pass and no line says so. A crash or a hang is never expected."""
    return [
        record
        for record in records
        if record.passed < record.samples
        and (
            record.reason.startswith(("crash", "hang"))
            or not any(expectation.covers(record) for expectation in expectations)
        )
    ]


def needless(records: list[Record], expectations: list[Expectation]) -> list[Expectation]:
    """Lines that covered something and yet all of it passed."""

    def wrong(expectation: Expectation) -> bool:
        covered = [record for record in records if expectation.covers(record)]
        return bool(covered) and all(record.passed == record.samples for record in covered)

    return [expectation for expectation in expectations if wrong(expectation)]


def write(folder: Path, records: list[Record], fallbacks: Counter[str]) -> None:
    """report.json, and fallbacks.json: in how many samples each operator fell back."""
    folder.mkdir(parents=True, exist_ok=True)
    ordered = sorted(records, key=lambda r: (r.full_name, KINDS.index(r.kind), r.dtype, r.route))
    rows = [dataclasses.asdict(record) for record in ordered]
    for name, content in (("report", rows), ("fallbacks", dict(fallbacks.most_common()))):
        temporary = folder / f"{name}.json.new"
        temporary.write_text(json.dumps(content, indent=1) + "\n")
        temporary.replace(folder / f"{name}.json")


def summary(records: list[Record]) -> str:
    titles = f"{'samples':>9}{'passed':>9}{'':>9}{'no fallback':>13}{'crashes':>9}{'hangs':>7}"
    lines = [f"{'kind':10}{titles}"]
    for kind in (*KINDS, "all"):
        rows = [record for record in records if kind in (record.kind, "all")]
        count = sum(record.samples for record in rows)
        if count == 0:
            continue
        passed = sum(record.passed for record in rows)
        fell_back = sum(record.samples for record in rows if record.route == FALLBACK)
        crashes = sum(record.samples for record in rows if record.reason.startswith("crash"))
        hangs = sum(record.samples for record in rows if record.reason.startswith("hang"))
        lines.append(
            f"{kind:10}{count:9}{passed:9}{passed / count:9.2%}{1 - fell_back / count:13.2%}"
            f"{crashes:9}{hangs:7}"
        )
    return "\n".join(lines)
