"""What `import torch_npu` adds to `import torch`: seconds and resident megabytes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from dataclasses import dataclass

_PROBE = """
import resource, time
import torch
# Not getrusage(): its peak includes the parent's, which the process had before exec().
def resident():
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * resource.getpagesize() / 2**20
memory, start = resident(), time.perf_counter()
import torch_npu
print(time.perf_counter() - start, resident() - memory)
"""


@dataclass(frozen=True)
class ImportCost:
    """Medians over fresh processes."""

    seconds: float
    megabytes: float


def import_cost(rounds: int = 5) -> ImportCost:
    """Measures in fresh processes, where `import torch` does not load `torch_npu` by itself."""
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    samples = []
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-c", _PROBE],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        samples.append([float(word) for word in done.stdout.split()[-2:]])
    seconds, megabytes = zip(*samples, strict=True)
    return ImportCost(statistics.median(seconds), statistics.median(megabytes))
