"""Typed tensors and storages of old."""

from __future__ import annotations

import pytest
import torch

from torch_npu.npu import legacy_types

npu = torch.npu

_STORAGES = (
    "torch_npu.npu.BFloat16Storage",
    "torch_npu.npu.BoolStorage",
    "torch_npu.npu.ByteStorage",
    "torch_npu.npu.CharStorage",
    "torch_npu.npu.DoubleStorage",
    "torch_npu.npu.FloatStorage",
    "torch_npu.npu.HalfStorage",
    "torch_npu.npu.IntStorage",
    "torch_npu.npu.LongStorage",
    "torch_npu.npu.ShortStorage",
)


@pytest.mark.parametrize("name", legacy_types.TENSOR_NAMES)
def test_type_makes_and_recognises_tensors_of_its_dtype(name: str) -> None:
    kind = getattr(npu, name)
    tensor = kind(2, 3)
    assert tensor.shape == (2, 3)
    assert tensor.dtype == kind.dtype
    assert tensor.device.type == "npu"
    assert isinstance(tensor, kind)
    assert not isinstance(tensor.cpu(), kind)
    assert not isinstance(tensor.to(torch.complex64), kind)
    assert tensor.type() == f"torch.npu.{name}"
    assert getattr(npu, name) is kind


def test_type_takes_values() -> None:
    assert npu.FloatTensor([1.0, 2.0]).tolist() == [1, 2]
    tensor = torch.ones(2, device="npu")
    same = npu.FloatTensor(tensor)
    same.add_(1)
    assert tensor.tolist() == [2, 2]
    with pytest.raises(TypeError, match=r"torch\.npu\.HalfTensor"):
        npu.HalfTensor(tensor)


def test_tensor_is_converted_by_name_and_by_type() -> None:
    tensor = torch.tensor([1, 2])
    for kind in ("torch.npu.HalfTensor", npu.HalfTensor):
        converted = tensor.type(kind)
        assert converted.dtype == torch.float16
        assert converted.device.type == "npu"


@pytest.mark.covers(*_STORAGES)
@pytest.mark.parametrize("name", legacy_types.STORAGE_NAMES)
def test_storage_has_its_dtype_and_device(name: str) -> None:
    kind = getattr(npu, name)
    storage = kind(4)
    assert storage.size() == 4
    assert storage.dtype == kind.dtype
    assert storage.device.type == "npu"


def test_storage_of_a_tensor_has_the_type_of_old() -> None:
    storage = torch.ones(2, device="npu").storage()
    assert storage.type() == "torch.npu.FloatStorage"
    assert isinstance(storage, npu.FloatStorage)
