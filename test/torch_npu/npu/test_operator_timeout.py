"""A limit on the time of each operator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

npu = torch.npu


@pytest.fixture(autouse=True)
def _no_limit_afterwards() -> Iterator[None]:
    yield
    npu.set_op_timeout_ms(0)


def _multiply_ever_larger_matrices() -> None:
    size = 256
    while True:
        x = torch.ones(size, size, device="npu")
        x @ x
        npu.synchronize()
        size = min(2 * size, 4096)


@pytest.mark.covers("torch_npu.npu.set_op_timeout_ms", "torch_npu.npu.utils.set_op_timeout_ms")
def test_operator_over_its_limit_fails_and_the_stream_goes_on() -> None:
    npu.set_op_timeout_ms(1)
    with pytest.raises(RuntimeError, match="longer than the limit of 1000 us"):
        _multiply_ever_larger_matrices()
    npu.set_op_timeout_ms(0)
    assert (torch.ones(4, device="npu") + 1).tolist() == [2] * 4


@pytest.mark.parametrize(("timeout", "error"), [(-1, OverflowError), (2**32, ValueError)])
def test_what_is_no_number_of_32_bits_is_refused(timeout: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        npu.set_op_timeout_ms(timeout)
    with pytest.raises(TypeError):
        npu.set_op_timeout_ms("soon")
