"""PyTorch's list of operators with their samples, as `torch_npu.testing.decorator` takes it.

Each entry of `op_db` has, beside what PyTorch's have, `dtypesIfNPU`, which are those of the CPU,
and `formats`, the numbers of the private formats to try: ND only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch.testing import make_tensor
from torch.testing._internal.common_dtype import _dispatch_dtypes
from torch.testing._internal.common_methods_invocations import op_db as _op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

_FORMAT_ND = 2


def _for_npu(operator: OpInfo) -> OpInfo:
    operator.dtypesIfNPU = _dispatch_dtypes(operator.dtypes)
    operator.formats = (_FORMAT_ND,)
    return operator


op_db = [_for_npu(operator) for operator in _op_db]


def sample_inputs_median_custom(
    self: Any, device: Any, dtype: torch.dtype, requires_grad: bool, **kwargs: Any
) -> Iterator[SampleInput]:
    """Inputs of `median`, whole and along a dimension, in which no two elements are equal: which
    of two equal ones has the index is not defined."""

    def distinct(*shape: int) -> torch.Tensor:
        count = torch.Size(shape).numel()
        values = torch.randperm(count).reshape(shape).to(device, dtype)
        return values.requires_grad_(requires_grad)

    yield SampleInput(distinct(7))
    for shape, dim in (((5, 7), 0), ((5, 7), -1), ((3, 4, 5), 1)):
        for keepdim in (False, True):
            yield SampleInput(distinct(*shape), args=(dim, keepdim))


def sample_inputs_normal_tensor_second(
    self: Any, device: Any, dtype: torch.dtype, requires_grad: bool, **kwargs: Any
) -> Iterator[SampleInput]:
    """Inputs of `normal` with a number as mean and a tensor of standard deviations."""
    deviation = partial(make_tensor, device=device, dtype=dtype, requires_grad=requires_grad, low=0)
    for mean, shape in ((1.5, ()), (0.3, (3,)), (-2.0, (2, 3, 4))):
        yield SampleInput(mean, args=(deviation(shape),))
