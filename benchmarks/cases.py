"""All benchmarks, in the order of the report."""

from __future__ import annotations

from benchmarks import half_precision, models, ops

CASES = [*ops.CASES, *models.CASES, *half_precision.CASES]
