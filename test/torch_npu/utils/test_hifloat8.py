"""HiFloat8, beside the numbers of its definition."""

from __future__ import annotations

import io
import math

import pytest
import torch

from torch_npu import HiFloat8Tensor


def _codes(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.uint8, device="npu")


def test_codes_have_the_values_of_the_definition() -> None:
    # Sign, prefix, sign and rest of the exponent, mantissa, written out from the format's table.
    known = {
        0b0_0000_000: 0.0,
        0b0_0000_001: 2.0**-22,
        0b0_0000_111: 2.0**-16,
        0b0_0001_000: 1.0,
        0b0_0001_111: 1.875,
        0b0_001_0_000: 2.0,
        0b0_001_1_100: 0.75,
        0b0_01_00_001: 4.5,
        0b0_01_11_111: 1.875 / 8,
        0b0_10_0_00_11: 28.0,
        0b0_10_1_11_00: 2.0**-7,
        0b0_11_0_000_1: 384.0,
        0b0_11_1_111_0: 2.0**-15,
        0b0_11_0_111_0: 2.0**15,
        0b0_11_0_111_1: math.inf,
        0b1_0001_000: -1.0,
        0b1_11_0_111_1: -math.inf,
    }
    values = HiFloat8Tensor(data=_codes(*known)).from_hifloat8()
    assert values.tolist() == list(known.values())
    assert HiFloat8Tensor(data=_codes(0x80)).from_hifloat8().isnan().all()


@pytest.mark.covers(
    "torch_npu.HiFloat8Tensor",
    "torch_npu.HiFloat8Tensor.to_hifloat8",
    "torch_npu.HiFloat8Tensor.from_hifloat8",
)
def test_every_code_survives_a_round_trip() -> None:
    codes = torch.arange(256, dtype=torch.uint8, device="npu")
    tensor = HiFloat8Tensor(data=codes)
    again = HiFloat8Tensor.to_hifloat8(tensor.from_hifloat8())
    assert torch.equal(again._data, codes)


def test_rounding_is_to_the_nearest_and_ties_go_away_from_zero() -> None:
    x = torch.randn(4000, device="npu") * torch.logspace(-6, 4, 4000, device="npu")
    table = HiFloat8Tensor(data=torch.arange(256, dtype=torch.uint8, device="npu")).from_hifloat8()
    finite = table[table.isfinite()]
    nearest = (x[:, None] - finite).abs().amin(1)
    rounded = HiFloat8Tensor.to_hifloat8(x).from_hifloat8()
    assert torch.equal((rounded - x).abs(), nearest)
    ties = torch.tensor([1.0625, -1.0625, 2.0**-23, 40960.0, 40959.0, -0.0], device="npu")
    assert HiFloat8Tensor.to_hifloat8(ties).tolist() == [
        1.125, -1.125, 2.0**-22, math.inf, 32768.0, 0.0,
    ]  # fmt: skip


@pytest.mark.covers(
    "torch_npu.HiFloat8Tensor.float",
    "torch_npu.HiFloat8Tensor.half",
    "torch_npu.HiFloat8Tensor.bfloat16",
    "torch_npu.HiFloat8Tensor.cpu",
    "torch_npu.HiFloat8Tensor.to_dtype",
    "torch_npu.HiFloat8Tensor.make_like",
)
def test_values_in_other_dtypes_and_places() -> None:
    tensor = HiFloat8Tensor.to_hifloat8(torch.tensor([1.0, -3.0], dtype=torch.bfloat16))
    assert tensor.dtype == torch.bfloat16
    assert tensor.device.type == "npu"
    for values, dtype in (
        (tensor.float(), torch.float32),
        (tensor.half(), torch.float16),
        (tensor.bfloat16(), torch.bfloat16),
        (tensor.to_dtype(torch.float16).from_hifloat8(), torch.float16),
    ):
        assert type(values) is torch.Tensor
        assert (values.dtype, values.tolist()) == (dtype, [1, -3])
    assert tensor.cpu().device.type == "cpu"
    like = HiFloat8Tensor.make_like(tensor, data=_codes(8))
    assert (like.dtype, like.tolist()) == (torch.bfloat16, [1])


@pytest.mark.covers(
    "torch_npu.HiFloat8Tensor.clone",
    "torch_npu.HiFloat8Tensor.contiguous",
    "torch_npu.HiFloat8Tensor.reshape",
    "torch_npu.HiFloat8Tensor.transpose",
    "torch_npu.HiFloat8Tensor.view",
)
def test_views_and_copies_keep_the_codes() -> None:
    values = torch.arange(6.0, device="npu").view(2, 3)
    tensor = HiFloat8Tensor.to_hifloat8(values)
    turned = tensor.transpose(0, 1)
    for made, expected in (
        (tensor.clone(), values),
        (tensor.view(3, 2), values.view(3, 2)),
        (tensor.reshape(6), values.reshape(6)),
        (turned, values.t()),
        (turned.reshape(6), values.t().reshape(6)),
        (turned.contiguous(), values.t()),
        (tensor[1], values[1]),
    ):
        assert isinstance(made, HiFloat8Tensor)
        assert torch.equal(made.from_hifloat8(), expected)
    assert tensor.contiguous() is tensor
    assert turned.contiguous().is_contiguous()
    tensor.view(6)._data.zero_()
    assert not tensor.from_hifloat8().any()
    assert not turned.from_hifloat8().any()


def test_operators_compute_with_the_values_and_round_what_they_write() -> None:
    tensor = HiFloat8Tensor.to_hifloat8(torch.tensor([[1.0, 2.0]], device="npu"))
    product = tensor @ torch.ones(2, 2, device="npu")
    assert type(product) is torch.Tensor
    assert product.tolist() == [[3, 3]]
    tensor.add_(0.0625)
    assert tensor.tolist() == [[1.125, 2.0]], "1.0625 rounds up, 2.0625 down"
    tensor.copy_(torch.tensor([[7.0, 9.0]]))
    assert tensor.tolist() == [[7, 9]]
    plain = torch.zeros(1, 2, device="npu")
    plain.copy_(tensor)
    assert plain.tolist() == [[7, 9]]
    assert "HiFloat8Tensor(" in repr(tensor)


def test_gradients_pass_the_rounding() -> None:
    x = torch.tensor([1.03, 2.9], device="npu", requires_grad=True)
    rounded = HiFloat8Tensor.to_hifloat8(x)
    (rounded.view(2, 1).from_hifloat8(torch.float16) * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_tensor_is_saved_and_loaded() -> None:
    tensor = HiFloat8Tensor.to_hifloat8(torch.tensor([1.0, 2.0], device="npu"))
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert torch.equal(loaded._data, tensor._data)


def test_data_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="one byte"):
        HiFloat8Tensor(data=torch.ones(2, device="npu"))
    with pytest.raises(ValueError, match="floating point"):
        HiFloat8Tensor(data=_codes(1), dtype=torch.int32)
