"""Items and datasets of libacl_tdt_channel.so, and the channels that are not there."""

from __future__ import annotations

import ctypes

import pytest

import softcann

INT32 = 3
TENSOR = 0
INVALID_PARAM = 100000
NOT_SUPPORTED = 207000


@pytest.fixture(scope="module")
def tdt() -> ctypes.CDLL:
    library = ctypes.CDLL(str(softcann.toolkit_path() / "lib64" / "libacl_tdt_channel.so"))
    for name in (
        "acltdtCreateDataItem",
        "acltdtCreateDataset",
        "acltdtGetDataItem",
        "acltdtGetDataAddrFromItem",
        "acltdtCreateChannel",
    ):
        getattr(library, name).restype = ctypes.c_void_p
    for name in ("acltdtGetDatasetName", "aclGetRecentErrMsg"):
        getattr(library, name).restype = ctypes.c_char_p
    for name in ("acltdtGetDatasetSize", "acltdtGetDimNumFromItem", "acltdtGetDataSizeFromItem"):
        getattr(library, name).restype = ctypes.c_size_t
    return library


def create(
    tdt: ctypes.CDLL, *dims: int, kind: int = TENSOR
) -> tuple[ctypes.c_void_p, ctypes.Array[ctypes.c_int32]]:
    data = (ctypes.c_int32 * 6)(*range(6))
    sizes = (ctypes.c_int64 * len(dims))(*dims)
    item = tdt.acltdtCreateDataItem(
        kind, sizes, ctypes.c_size_t(len(dims)), INT32, data, ctypes.c_size_t(24)
    )
    return ctypes.c_void_p(item), data


def test_an_item_says_what_it_was_made_of(tdt: ctypes.CDLL) -> None:
    item, data = create(tdt, 2, 3)
    assert tdt.acltdtGetTensorTypeFromItem(item) == TENSOR
    assert tdt.acltdtGetDataTypeFromItem(item) == INT32
    assert tdt.acltdtGetDataAddrFromItem(item) == ctypes.addressof(data)
    assert tdt.acltdtGetDataSizeFromItem(item) == 24
    dims = (ctypes.c_int64 * 2)()
    assert tdt.acltdtGetDimNumFromItem(item) == 2
    assert tdt.acltdtGetDimsFromItem(item, dims, ctypes.c_size_t(2)) == 0
    assert list(dims) == [2, 3]
    assert tdt.acltdtGetDimsFromItem(item, dims, ctypes.c_size_t(1)) == INVALID_PARAM
    assert b"2 dimensions" in tdt.aclGetRecentErrMsg()
    number, index = ctypes.c_size_t(9), ctypes.c_size_t(9)
    assert tdt.acltdtGetSliceInfoFromItem(item, ctypes.byref(number), ctypes.byref(index)) == 0
    assert (number.value, index.value) == (0, 0)
    assert tdt.acltdtDestroyDataItem(item) == 0


def test_a_dataset_holds_items_in_order(tdt: ctypes.CDLL) -> None:
    first, second = create(tdt, 6), create(tdt, 3, 2)
    dataset = ctypes.c_void_p(tdt.acltdtCreateDataset())
    assert tdt.acltdtAddDataItem(dataset, first[0]) == 0
    assert tdt.acltdtAddDataItem(dataset, second[0]) == 0
    assert tdt.acltdtGetDatasetSize(dataset) == 2
    assert tdt.acltdtGetDataItem(dataset, ctypes.c_size_t(1)) == second[0].value
    assert tdt.acltdtGetDataItem(dataset, ctypes.c_size_t(2)) is None
    assert b"no item 2" in tdt.aclGetRecentErrMsg()
    assert tdt.acltdtGetDatasetName(dataset) == b""
    assert tdt.acltdtDestroyDataset(dataset) == 0
    for item, _ in (first, second):
        assert tdt.acltdtDestroyDataItem(item) == 0


def test_bad_arguments_are_refused(tdt: ctypes.CDLL) -> None:
    assert create(tdt, -1)[0].value is None
    assert b"dimension 0 is negative" in tdt.aclGetRecentErrMsg()
    assert create(tdt, 2, kind=7)[0].value is None
    assert b"type of tensor 7" in tdt.aclGetRecentErrMsg()
    assert tdt.acltdtAddDataItem(None, None) == INVALID_PARAM
    assert tdt.acltdtDestroyDataItem(None) == INVALID_PARAM
    assert tdt.acltdtDestroyDataset(None) == INVALID_PARAM
    assert tdt.acltdtGetTensorTypeFromItem(None) == -1


def test_channels_say_what_to_use_instead(tdt: ctypes.CDLL) -> None:
    assert tdt.acltdtCreateChannel(0, b"name") is None
    assert b"aclrtMemcpyAsync()" in tdt.aclGetRecentErrMsg()
    assert tdt.acltdtSendTensor(None, None, 0) == NOT_SUPPORTED
