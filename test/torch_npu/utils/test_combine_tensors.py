"""Many tensors as parts of one."""

from __future__ import annotations

import pytest
import torch

from torch_npu import utils


@pytest.mark.covers(
    "torch_npu.utils.npu_combine_tensors", "torch_npu.utils.is_combined_tensor_valid"
)
def test_combined_tensors_share_the_memory_of_one() -> None:
    first = torch.nn.Parameter(torch.randn(2, 3, device="npu"))
    second = torch.arange(4.0, device="npu")
    before = torch.cat([first.detach().flatten(), second])
    combined = utils.npu_combine_tensors([first, second])
    assert torch.equal(combined, before)
    assert utils.is_combined_tensor_valid(combined, [first, second])
    combined.add_(1)
    assert torch.equal(first.detach().flatten(), before[:6] + 1)
    assert second.tolist() == [1, 2, 3, 4]
    second.data = second.clone()
    assert not utils.is_combined_tensor_valid(combined, [first, second])
    assert not utils.is_combined_tensor_valid(combined, [None])
    assert not utils.is_combined_tensor_valid(None, [first])
    assert utils.is_combined_tensor_valid(None, [])


@pytest.mark.covers("torch_npu.utils.get_part_combined_tensor")
def test_part_of_a_combined_tensor() -> None:
    combined = utils.npu_combine_tensors([torch.arange(6.0, device="npu")])
    part = utils.get_part_combined_tensor(combined, 2, 3)
    part.zero_()
    assert combined.tolist() == [0, 1, 0, 0, 0, 5]
    assert utils.get_part_combined_tensor(combined, 0, 0) is None
    assert utils.get_part_combined_tensor(None, 0, 3) is None
    with pytest.raises(RuntimeError, match="elements 4 to 7"):
        utils.get_part_combined_tensor(combined, 4, 3)


def test_nothing_to_combine_is_none() -> None:
    assert utils.npu_combine_tensors([]) is None
    assert utils.npu_combine_tensors([torch.empty(0, device="npu")]) is None
    kept = utils.npu_combine_tensors([torch.ones(3, device="npu")], require_copy_value=False)
    assert kept.shape == (3,)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (lambda: torch.ones(2), "npu"),
        (lambda: torch.ones(2, device="npu").half(), "dtype"),
        (lambda: torch.ones(2, 3, device="npu").t(), "contiguous"),
        (lambda: None, "None"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(second, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        utils.npu_combine_tensors([torch.ones(2, device="npu"), second()])
