"""What is refused for SymInt[] before PyTorch converts it, and what is left to PyTorch."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch
import torch._dynamo

import torch_npu


def call(lengths: Any) -> Any:
    x = torch.ones(1, 3, 2, 16, dtype=torch.float16, device="npu")
    return torch_npu.npu_incre_flash_attention(
        x[:, :1], x, x, num_heads=2, input_layout="BSND", actual_seq_lengths=lengths
    )


@pytest.mark.parametrize(
    ("lengths", "what"),
    [
        (2, "int"),
        (torch.tensor(2), "Tensor without dimensions"),
        (numpy.array(2), "ndarray without dimensions"),
        ((n for n in [2]), "generator"),
        (torch.tensor([True]), "a tensor of torch.bool"),
        ([torch.tensor(True)], "a tensor of torch.bool"),
        ([2, torch.tensor([False])], "a tensor of torch.bool"),
        (torch.tensor([2], device="meta"), "a tensor without values"),
    ],
)
def test_value_that_is_no_list_of_integers_is_refused(lengths: Any, what: str) -> None:
    expected = rf"^npu_incre_flash_attention\(\): .* 'actual_seq_lengths', but got {what}$"
    with pytest.raises(TypeError, match=expected):
        call(lengths)


@pytest.mark.parametrize("lengths", ["2", [2.5], {"a": 2}, torch.ones(1)])
def test_refusals_of_pytorch_stay(lengths: Any) -> None:
    with pytest.raises(RuntimeError, match="for argument 'actual_seq_lengths' but instead found"):
        call(lengths)


def test_argument_is_checked_in_its_place_too() -> None:
    x = torch.ones(2, 3, device="npu")
    with pytest.raises(TypeError, match="'shape', but got int"):
        torch.ops.npu.npu_confusion_transpose_backward(x, [1, 0], 6, True)
    with pytest.raises(TypeError, match="'shape', but got int"):
        torch.ops.npu.npu_confusion_transpose_backward.default(x, [1, 0], 6, True)


def test_no_list_is_no_list() -> None:
    assert call(None).shape == (1, 1, 2, 16)


def test_graph_breaks_where_numbers_are_in_a_tensor() -> None:
    torch._dynamo.reset()
    lengths = torch.tensor([2])
    compiled = torch.compile(lambda lengths: call(lengths) + 1, backend="eager")
    assert torch.equal(compiled(lengths).cpu(), call(lengths).cpu() + 1)
    torch._dynamo.reset()
    whole = torch.compile(call, backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="npu_incre_flash_attention"):
        whole(lengths)


def test_numbers_read_before_stay_in_the_graph() -> None:
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(
            lambda lengths: call(lengths.tolist()), backend="aot_eager", fullgraph=True
        )
        assert torch.equal(compiled(torch.tensor([2])).cpu(), call([2]).cpu())
