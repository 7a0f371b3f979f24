"""Wrong arguments raise at the call, as on the CPU: PyTorch's own wrong calls, and wrong dtypes."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map

SHARDS = 4
DTYPES = (torch.bool, torch.int32, torch.float16, torch.complex64)
# What they return depends on the allocator.
UNINITIALISED = {
    *("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
}

Call = Callable[[], Any]


def error_of(call: Call) -> Exception | None:
    """What the call itself raises, whatever its kernel may report later."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except Exception as error:
        return error
    return None


def forget_failures() -> None:
    error_of(torch.npu.synchronize)


def shard(number: int) -> list[Any]:
    return op_db[number::SHARDS]


@pytest.mark.parametrize("number", range(SHARDS))
def test_calls_that_pytorch_calls_wrong_raise_its_error(number: int) -> None:
    wrong, checked = [], 0
    for op in shard(number):
        if op.error_inputs_func is None:
            continue
        # Some entries have a few more for the CPU, at the end.
        for on_cpu, on_npu in zip(op.error_inputs("cpu"), op.error_inputs("npu"), strict=False):

            def raised(case: Any, op: Any = op) -> Exception | None:
                sample = case.sample_input
                return error_of(lambda: op(sample.input, *sample.args, **sample.kwargs))

            expected = raised(on_cpu)
            if not isinstance(expected, on_cpu.error_type):
                continue  # written for another device
            checked += 1
            actual = raised(on_npu)
            fits = isinstance(actual, on_npu.error_type)
            if not fits or not re.search(on_npu.error_regex, str(actual)):
                wrong.append(f"{op.full_name}: {expected!r}, but {actual!r}")
            forget_failures()
    assert checked > 100
    assert wrong == []


def in_dtype(sample: Any, dtype: torch.dtype, device: str) -> tuple[Any, ...]:
    """The sample's arguments with every floating point tensor in another dtype."""

    def convert(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        wanted = dtype if value.is_floating_point() else value.dtype
        return value.detach().to(wanted).to(device)

    return tree_map(convert, (sample.input, sample.args, sample.kwargs))


def samples_in_wrong_dtypes(op: Any) -> Iterator[tuple[torch.dtype, Any]]:
    if op.name in UNINITIALISED or torch.float32 not in op.supported_dtypes("cpu"):
        return
    samples = list(itertools.islice(op.sample_inputs("cpu", torch.float32), 2))
    for dtype in DTYPES:
        if dtype not in op.supported_dtypes("cpu"):
            yield from ((dtype, sample) for sample in samples)


@pytest.mark.parametrize("number", range(SHARDS))
def test_dtypes_that_the_cpu_refuses_are_refused_at_the_call(number: int) -> None:
    late, checked = [], 0
    for op in shard(number):
        for dtype, sample in samples_in_wrong_dtypes(op):
            first, args, kwargs = in_dtype(sample, dtype, "cpu")
            refused = error_of(lambda: op(first, *args, **kwargs))  # noqa: B023 - called at once
            if not isinstance(refused, NotImplementedError):
                continue
            checked += 1
            first, args, kwargs = in_dtype(sample, dtype, "npu")
            raised = error_of(lambda: op(first, *args, **kwargs))  # noqa: B023
            reported = error_of(torch.npu.synchronize)
            if not raised and reported:  # what npu computes and the CPU does not is no fault
                late.append(f"{op.full_name} {dtype}: {reported}")
    assert checked > 100
    assert late == []
