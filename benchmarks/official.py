"""The official torch_npu as a third side of a benchmark, on the same softcann.

It cannot be imported beside our own, so it runs in a process of its own, in the environment that
`make test-official` makes, and is told when to run a round: a line of JSON for each request and for
each answer (official_server.py).
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import softcann

ROOT = Path(__file__).parents[1]
SERVER = Path(__file__).with_name("official_server.py")


def official_python() -> Path | None:
    """The interpreter of the newest such environment, or None."""
    ready = ROOT.glob("build/official/venv-*/.installed")
    newest = max(ready, key=lambda path: path.stat().st_mtime, default=None)
    return newest.parent / "bin" / "python" if newest else None


class OfficialWheel:
    """A Side whose calls are made by another process."""

    def __init__(self, python: Path) -> None:
        self._process = subprocess.Popen(
            [str(python), "-W", "ignore", str(SERVER)],
            env={**softcann.environment(), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def prepare(self, case: str) -> None:
        """From now on the rounds are of this case."""
        self._ask({"prepare": case})

    def round(self, count: int) -> float:
        return float(self._ask({"round": count}))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(
                f"the official torch_npu ended with status {self._process.wait()} at {request}"
            )
        return json.loads(answer)
