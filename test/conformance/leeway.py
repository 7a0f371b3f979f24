"""What a backend may do otherwise than the CPU and still be right.

Our own backend has none of it; `official()` is what the official torch_npu has on a 910B.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import torch

Places = Mapping[str, tuple[int, ...]]  # by entry, which of its results


@dataclasses.dataclass(frozen=True)
class Leeway:
    """By default none.

    `narrowed`: dtypes of the CPU's results that may come as another, and are compared in that.
    `widened`: results that may come as float32 whatever the CPU's dtype, and are compared in that.
    `positions`: results that may come as int32 instead of int64.
    `opaque`: results that only the backend's own functions can read.
    `unsaved`: results that may hold anything where the CPU's are empty.
    `layout`: results may lie in memory otherwise.
    `rounding`: by entry, how many times the usual tolerance a result of low precision may be off,
    where the backend composes it of other operators.
    """

    narrowed: Mapping[torch.dtype, torch.dtype] = dataclasses.field(default_factory=dict)
    widened: Places = dataclasses.field(default_factory=dict)
    positions: Places = dataclasses.field(default_factory=dict)
    opaque: Places = dataclasses.field(default_factory=dict)
    unsaved: Places = dataclasses.field(default_factory=dict)
    layout: bool = False
    rounding: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def ignores(self, entry: str, place: int, expected: Any) -> bool:
        if place in self.opaque.get(entry, ()):
            return True
        empty = isinstance(expected, torch.Tensor) and expected.numel() == 0
        return empty and place in self.unsaved.get(entry, ())

    def in_common_dtype(
        self, entry: str, place: int, expected: torch.Tensor, actual: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Both as they are compared: unchanged, unless the dtypes differ and may."""
        if expected.dtype == actual.dtype:
            return expected, actual
        if actual.dtype == self.narrowed.get(expected.dtype):
            return expected.detach().to(actual.dtype), actual
        if actual.dtype == torch.int32 and place in self.positions.get(entry, ()):
            return expected.to(actual.dtype), actual
        if actual.dtype == torch.float32 and place in self.widened.get(entry, ()):
            return expected, actual.detach().to(expected.dtype)
        return expected, actual

    def tolerance(self, entry: str, dtype: torch.dtype) -> dict[str, float]:
        """Keyword arguments of torch.testing.assert_close."""
        usual = {torch.bfloat16: 1.6e-2, torch.float16: 1e-3}.get(dtype)
        if usual is None or entry not in self.rounding:
            return {}
        return {"rtol": usual * self.rounding[entry], "atol": 1e-5 * self.rounding[entry]}


NONE = Leeway()

_STATISTICS = ("native_batch_norm", "_native_batch_norm_legit")


def official() -> Leeway:
    # By default the indices of max pooling in two dimensions are a mask of bits.
    compatible = os.environ.get("TORCH_NPU_USE_COMPATIBLE_IMPL") == "1"
    pooling = [f"nn.functional.max_pool{n}d" for n in (1, 2)]
    return Leeway(
        narrowed={torch.float64: torch.float32, torch.complex128: torch.complex64},
        widened=dict.fromkeys((*_STATISTICS, "native_layer_norm"), (1, 2)),
        positions=dict.fromkeys(
            (*pooling, "nn.functional.max_pool3d", "nn.functional.adaptive_max_pool3d"), (1,)
        ),
        opaque={} if compatible else dict.fromkeys(pooling, (1,)),
        unsaved=dict.fromkeys(_STATISTICS, (1, 2)),
        layout=True,
        rounding={
            "nn.functional.linear_cross_entropy.chunked_none": 2,
            "_batch_norm_with_update": 4,  # on the CPU, in contiguous copies
        },
    )
