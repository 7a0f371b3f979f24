"""Making, resizing and re-seating npu tensors."""

from __future__ import annotations

import pytest
import torch

import torch_npu  # noqa: F401


def test_empty_is_on_the_current_device() -> None:
    tensor = torch.empty(2, 3, device="npu")
    assert tensor.device == torch.device("npu", torch.npu.current_device())
    assert tensor.shape == (2, 3)
    assert tensor.is_contiguous()


def test_empty_without_elements_has_no_memory() -> None:
    tensor = torch.empty(0, 4, device="npu")
    assert tensor.data_ptr() == 0
    assert tensor.untyped_storage().nbytes() == 0


def test_empty_takes_an_explicit_device_index() -> None:
    if torch.npu.device_count() < 2:
        pytest.skip("needs two devices")
    tensor = torch.empty(2, device="npu:1")
    assert tensor.device == torch.device("npu:1")
    assert torch.npu.current_device() == 0


def test_empty_honours_memory_format() -> None:
    tensor = torch.empty(2, 3, 4, 5, device="npu", memory_format=torch.channels_last)
    assert tensor.stride() == (60, 1, 15, 3)


def test_empty_strided_keeps_strides() -> None:
    tensor = torch.empty_strided((2, 3), (1, 4), device="npu", dtype=torch.int16)
    assert tensor.stride() == (1, 4)
    assert tensor.untyped_storage().nbytes() == (1 + 2 * 4 + 1) * 2


def test_empty_uses_the_default_dtype() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.empty(1, device="npu").dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_negative_size_is_refused() -> None:
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        torch.empty(-1, device="npu")


def test_pinned_npu_tensor_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty(1, device="npu", pin_memory=True)


def test_deterministic_mode_fills_new_memory() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(3, device="npu").cpu().isnan().all()
        assert (torch.empty(3, device="npu", dtype=torch.int8).cpu() == 127).all()
    finally:
        torch.use_deterministic_algorithms(False)


def test_creation_functions_hold_their_values() -> None:
    assert torch.zeros(3, device="npu").cpu().tolist() == [0, 0, 0]
    assert torch.full((2,), 7, device="npu").cpu().tolist() == [7, 7]
    assert torch.arange(1, 7, 2, device="npu").cpu().tolist() == [1, 3, 5]
    assert torch.tensor([[1, 2], [3, 4]], device="npu").cpu().tolist() == [[1, 2], [3, 4]]
    assert torch.eye(2, device="npu").cpu().tolist() == [[1, 0], [0, 1]]


def test_resize_keeps_contents_and_grows_storage() -> None:
    tensor = torch.arange(4.0, device="npu")
    tensor.resize_(2, 4)
    assert tensor.shape == (2, 4)
    assert tensor.cpu().flatten()[:4].tolist() == [0, 1, 2, 3]
    assert tensor.untyped_storage().nbytes() == 32


def test_resize_to_fewer_elements_keeps_storage() -> None:
    tensor = torch.arange(4.0, device="npu")
    address = tensor.data_ptr()
    tensor.resize_(2)
    assert tensor.data_ptr() == address
    assert tensor.untyped_storage().nbytes() == 16


def test_resize_honours_memory_format() -> None:
    tensor = torch.empty(0, device="npu")
    tensor.resize_(1, 2, 2, 2, memory_format=torch.channels_last)
    assert tensor.is_contiguous(memory_format=torch.channels_last)


def test_resize_as_takes_the_other_shape() -> None:
    tensor = torch.empty(0, device="npu").resize_as_(torch.empty(3, 2, device="npu"))
    assert tensor.shape == (3, 2)


def test_storage_resize_keeps_contents() -> None:
    tensor = torch.arange(4, dtype=torch.uint8, device="npu")
    tensor.untyped_storage().resize_(8)
    assert tensor.untyped_storage().nbytes() == 8
    assert tensor.cpu().tolist() == [0, 1, 2, 3]


def test_set_shares_the_source_storage() -> None:
    source = torch.arange(6.0, device="npu")
    tensor = torch.empty(0, device="npu")
    tensor.set_(source)
    assert tensor.data_ptr() == source.data_ptr()
    assert tensor.is_set_to(source)


def test_set_with_storage_offset_sizes_and_strides() -> None:
    source = torch.arange(12.0, device="npu")
    tensor = torch.empty(0, device="npu")
    tensor.set_(source.untyped_storage(), 2, (2, 3), (4, 1))
    assert tensor.cpu().tolist() == [[2, 3, 4], [6, 7, 8]]


def test_set_with_storage_covers_all_of_it() -> None:
    source = torch.arange(5.0, device="npu")
    tensor = torch.empty(0, device="npu")
    tensor.set_(source.untyped_storage())
    assert tensor.cpu().tolist() == [0, 1, 2, 3, 4]


def test_set_without_source_empties() -> None:
    tensor = torch.arange(5.0, device="npu")
    tensor.set_()
    assert tensor.shape == (0,)
    assert tensor.device.type == "npu"


def test_set_refuses_storage_of_another_device() -> None:
    with pytest.raises(RuntimeError, match="different device"):
        torch.empty(1, device="npu").set_(torch.empty(1).untyped_storage(), 0, (1,), (1,))


def test_item_of_every_dtype() -> None:
    dtypes = [
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.uint16, torch.uint32, torch.uint64, torch.float16, torch.bfloat16, torch.float32,
        torch.float64, torch.complex64, torch.complex128, torch.float8_e4m3fn,
    ]  # fmt: skip
    for dtype in dtypes:
        assert torch.tensor(1).to(dtype).to("npu").item() == 1


def test_item_of_several_elements_is_refused() -> None:
    with pytest.raises(RuntimeError, match="2 elements cannot be converted to Scalar"):
        torch.empty(2, device="npu").item()


def test_item_of_an_element_inside_a_tensor() -> None:
    assert torch.arange(10, device="npu")[7].item() == 7


def test_item_of_conjugated_and_negated_views() -> None:
    value = torch.tensor(1 + 2j).to("npu")
    assert value.conj().item() == 1 - 2j
    assert value.conj().imag.item() == -2


def test_equal_compares_values() -> None:
    left = torch.arange(4, device="npu")
    assert torch.equal(left, left.clone())
    assert not torch.equal(left, left + 1)
    assert not torch.equal(left, left[:2])
    assert torch.equal(torch.empty(0, device="npu"), torch.empty(0, device="npu"))


def test_equal_refuses_another_device() -> None:
    with pytest.raises(RuntimeError, match="different devices"):
        torch.equal(torch.zeros(2, device="npu"), torch.zeros(2))


def test_zero_tensor_of_forward_mode() -> None:
    tensor = torch._efficientzerotensor((2, 2), device="npu")
    assert tensor._is_zerotensor()
    assert (tensor + torch.ones(2, 2, device="npu")).cpu().tolist() == [[1, 1], [1, 1]]


def test_record_stream_accepts_a_stream_of_the_device() -> None:
    tensor = torch.ones(4, device="npu")
    tensor.record_stream(torch.Stream(device="npu"))
    assert tensor.cpu().tolist() == [1, 1, 1, 1]
