"""The other process of official.py: answers requests for rounds until its input ends."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# Behind the environment's own packages: the source tree has a torch_npu too.
sys.path[0:1] = []
sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.case import Local  # noqa: E402
from benchmarks.cases import CASES  # noqa: E402

DEVICE = "npu:0"


def serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    cases = {case.name: case for case in CASES}
    side: Local | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if "prepare" in request:
            side = Local(cases[request["prepare"]], DEVICE)
        seconds = side.round(request["round"]) if side and "round" in request else None
        print(json.dumps(seconds), file=answers, flush=True)


if __name__ == "__main__":
    serve()
