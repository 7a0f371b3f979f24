"""Runs the cases of one test file in this process and notes each as it starts and ends.

usage: ascend_worker.py FILE NOTES

NOTES gets a JSON object a line: {"case": …, "outcome": "started"}, then "passed", "skipped",
"failed" or "expected" with the seconds and the message. Cases that NOTES already names are left
out, so that a worker started again after a crash goes on behind the case that crashed.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import unittest
from pathlib import Path
from typing import Any


class Notes(unittest.TestResult):
    """Appends every outcome to a file at once: a crash must not lose what came before it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.file = path.open("a")
        self.failed: list[str] = []
        self.outcome = ""

    def write(self, case: str, outcome: str, **more: Any) -> None:
        self.file.write(json.dumps({"case": case, "outcome": outcome, **more}) + "\n")
        self.file.flush()

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802, unittest's name
        super().startTest(test)
        self.outcome, self.failed, self.began = "passed", [], time.perf_counter()
        self.write(case_name(test), "started")

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().stopTest(test)
        message = "\n".join(self.failed)[-3000:]
        seconds = round(time.perf_counter() - self.began, 2)
        self.write(case_name(test), self.outcome, seconds=seconds, message=message)

    def record(self, test: unittest.TestCase, error: Any, outcome: str = "failed") -> None:
        self.outcome = outcome
        self.failed.append(self._exc_info_to_string(error, test))
        if not isinstance(test, unittest.TestCase):  # a class's or the module's own set-up
            self.write(case_name(test), outcome, seconds=0, message=self.failed[-1][-3000:])

    addError = addFailure = record  # noqa: N815

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            self.record(test, err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self.outcome = "skipped"
        self.failed.append(reason)
        if not isinstance(test, unittest.TestCase):
            self.write(case_name(test), "skipped", seconds=0, message=reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self.record(test, err, "expected")

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        self.outcome = "failed"
        self.failed.append("passed though the file expects it to fail")


def case_name(test: unittest.TestCase) -> str:
    """`Class.test`; a class's own set-up calls itself `setUpClass (module.Class)`."""
    name, _, owner = test.id().partition(" (")
    whole = f"{owner.rstrip(')')}.{name}" if owner else name
    return whole.split(".", 1)[-1]


def cases(suite: Any) -> list[unittest.TestCase]:
    if isinstance(suite, unittest.TestCase):
        return [suite]
    return [case for part in suite for case in cases(part)]


def main(file: Path, path: Path) -> None:
    seen = {json.loads(line)["case"] for line in path.read_text().splitlines()}
    sys.path.insert(0, str(file.parent))
    sys.argv = [str(file)]  # what the file's own arguments are read from
    module = importlib.import_module(file.stem)
    left = [
        case
        for case in cases(unittest.defaultTestLoader.loadTestsFromModule(module))
        if case_name(case) not in seen
    ]
    unittest.TestSuite(left).run(Notes(path))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
