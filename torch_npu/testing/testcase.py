"""The test class: PyTorch's own, with comparisons by one precision."""

from __future__ import annotations

import itertools
import os
import random
import unittest
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from numbers import Number
from typing import Any

import numpy as np
import torch
from torch.testing._internal import common_utils

from torch_npu.testing.common_utils import iter_indices, set_npu_device

_DEFAULT_SEED = "666"
# What is added to a denominator that may be zero.
_TINY, _TINY_HALF = 1e-9, 6e-8
_COMPARED = (
    torch.bool,
    *(torch.uint8, torch.uint16, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.float32, torch.float64),
)


def run_tests() -> None:
    """Runs the tests of the file that is executed, and ends the process, as `unittest.main`."""
    unittest.main()


class TestCase(common_utils.TestCase):
    """A test class on the device that `SET_NPU_DEVICE` numbers, `npu:0` by default.

    Each test starts from the seed in `SEED`, 666 by default. `precision` is the greatest absolute
    difference that `assertEqual` accepts; `exact_dtype` makes it compare dtypes as well.
    """

    _precision = 1e-5
    maxDiff = None
    exact_dtype = False
    npu_device: str

    def __init__(self, method_name: str = "runTest") -> None:
        super().__init__(method_name)

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.npu_device = set_npu_device()

    def setUp(self) -> None:
        super().setUp()
        seed = int(os.environ.get("SEED", _DEFAULT_SEED))
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        return super().run(result)

    # Comparisons ----------------------------------------------------------------------------------

    def assertEqual(  # type: ignore[override]
        self,
        x: Any,
        y: Any,
        prec: float | str | None = None,
        message: str = "",
        allow_inf: bool = False,
        exact_dtype: bool | None = None,
        **options: Any,
    ) -> None:
        """Fails where numbers or elements differ by more than `prec`; NaN equals NaN.

        Values may be nested in sequences and mappings, and lie on different devices. Without
        `allow_inf` an infinity fails; with it, it equals itself. A text in the place of `prec` is
        the message. `options` are those of PyTorch's own `assertEqual`.
        """
        if isinstance(prec, str):
            message = message or prec
            prec = None
        if not allow_inf and (_has_infinity(x) or _has_infinity(y)):
            self.fail(message or f"Expected finite numeric values - x={x}, y={y}")
        options.setdefault("atol", self.precision if prec is None else prec)
        options.setdefault("rtol", 0.0)
        super().assertEqual(
            _coalesced(x),
            _coalesced(y),
            options.pop("msg", None) or message or None,
            exact_dtype=self.exact_dtype if exact_dtype is None else exact_dtype,
            **options,
        )

    def assertNotEqual(  # type: ignore[override]
        self, x: Any, y: Any, prec: float | str | None = None, message: str = "", **options: Any
    ) -> None:
        """Fails where `assertEqual(x, y, prec)` with infinities allowed does not."""
        if isinstance(prec, str):
            message = message or prec
            prec = None
        try:
            self.assertEqual(x, y, prec, allow_inf=True, **options)
        except AssertionError:
            return
        self.fail(message or f"{x} and {y} are equal")

    def assertAlmostEqual(  # type: ignore[override]
        self,
        x: Any,
        y: Any,
        places: int | None = None,
        msg: str | None = None,
        delta: float | None = None,
        allow_inf: bool | None = None,
    ) -> None:
        """`assertEqual` with a precision of `delta`, or of `places` decimals, 7 by default."""
        if delta is not None and places is not None:
            raise TypeError("specify delta or places not both")
        if delta is None:
            delta = 10.0 ** -(7 if places is None else places)
        self.assertEqual(x, y, delta, msg or "", bool(allow_inf))

    def assertRtolEqual(
        self,
        x: Any,
        y: Any,
        prec: float = 1e-4,
        prec16: float = 1e-3,
        auto_trans_dtype: bool = False,
        message: str | None = None,
    ) -> None:
        """Compares results of different hardware: shapes and dtypes exactly, values loosely.

        Numbers, arrays, tensors or sequences of them. A value counts as different absolutely, and
        relatively to the greater of the two, where it is off by more than `prec`, or `prec16` for
        float16. It fails where both kinds are met by more than that same share of the elements:
        a part in ten thousand may be wrong. Booleans must all be equal. `auto_trans_dtype`
        converts `x` to the dtype of `y` first.
        """
        if _is_plain_sequence(x) and _is_plain_sequence(y):
            if len(x) != len(y):
                self.fail(message or f"lengths differ: {len(x)} and {len(y)}")
            for ours, theirs in zip(x, y, strict=True):
                self.assertRtolEqual(ours, theirs, prec, prec16, auto_trans_dtype, message)
            return
        x, y = _as_tensors(x, y)
        if auto_trans_dtype:
            x = x.to(y.dtype)
        if x.shape != y.shape:
            self.fail(message or f"shape error: {tuple(x.shape)} and {tuple(y.shape)}")
        if x.dtype != y.dtype:
            self.fail(message or f"dtype error: {x.dtype} and {y.dtype}")
        if x.dtype not in _COMPARED:
            self.fail(message or f"{x.dtype} is not compared; convert it to float32 first")
        limit = prec16 if x.dtype == torch.float16 else prec
        wrong = _share_of_differences(x, y, limit)
        if wrong > (0 if x.dtype == torch.bool else limit):
            self.fail(message or f"result error: {wrong:.2%} of the elements differ")

    def assertTensorsSlowEqual(
        self, x: torch.Tensor, y: torch.Tensor, prec: float | None = None, message: str = ""
    ) -> None:
        """Compares sizes, dtypes and one element after the other."""
        self.assertEqual(x.size(), y.size())
        self.assertEqual(x.dtype, y.dtype)
        limit = self.precision if prec is None else prec
        for index in iter_indices(x):
            ours, theirs = x[index].item(), y[index].item()
            # Written so that a NaN differs.
            if not abs(ours - theirs) <= limit:
                self.fail(message or f"{ours} and {theirs} differ at {index}")

    # Sparse tensors -------------------------------------------------------------------------------

    def genSparseTensor(
        self,
        size: Sequence[int],
        sparse_dim: int,
        nnz: int,
        is_uncoalesced: bool,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """A random sparse tensor with `nnz` elements, and copies of its indices and values."""
        return super().genSparseTensor(size, sparse_dim, nnz, is_uncoalesced, device, dtype)

    def safeCoalesce(self, t: torch.Tensor) -> torch.Tensor:
        """`t.coalesce()`, once it is found to be the same tensor with sorted, distinct indices."""
        coalesced = t.coalesce()
        self.assertEqual(coalesced.to_dense(), t.to_dense())
        self.assertTrue(coalesced.is_coalesced())
        columns = coalesced.indices().t().tolist()
        self.assertTrue(all(a < b for a, b in itertools.pairwise(columns)))
        return coalesced

    def safeToDense(self, t: torch.Tensor) -> torch.Tensor:
        """`t` as a dense tensor, by way of `safeCoalesce`."""
        return self.safeCoalesce(t).to_dense()

    # Warnings -------------------------------------------------------------------------------------

    def assertWarns(  # type: ignore[override]
        self, call_fn: Any, msg: Any = "", *arguments: Any, **options: Any
    ) -> Any:
        """Fails where `call_fn()` warns of nothing; with a class of warnings, `unittest`'s own."""
        if isinstance(call_fn, type | tuple):
            given = (msg, *arguments) if msg != "" else arguments
            return super().assertWarns(call_fn, *given, **options)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call_fn()
        self.assertTrue(len(caught) > 0, msg)
        return None

    def assertNotWarn(self, call_fn: Callable[[], Any], msg: str = "") -> None:
        """Fails where `call_fn()` warns of anything."""
        super().assertNotWarn(call_fn, msg)

    def maybeWarnsRegex(
        self, category: type[Warning], regex: str = ""
    ) -> AbstractContextManager[Any]:
        """A context that swallows warnings of `category` that match, and fails for any other."""
        return _MaybeWarns(self, category, regex)


def _coalesced(value: Any) -> Any:
    """A sparse tensor by its elements, and not by how they are stored; else `value`."""
    sparse = isinstance(value, torch.Tensor) and value.layout == torch.sparse_coo
    return value.coalesce() if sparse else value


def _has_infinity(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        dense = value.dequantize() if value.is_quantized else value
        if dense.layout == torch.sparse_coo:
            dense = dense.coalesce().values()
        return (dense.is_floating_point() or dense.is_complex()) and bool(dense.isinf().any())
    if isinstance(value, Number):
        return abs(value) == float("inf")  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return any(map(_has_infinity, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_infinity, value))
    return False


def _is_plain_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _as_tensors(x: Any, y: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Both as tensors on the CPU; a sequence takes the dtype of the tensor that it is beside."""
    if isinstance(x, torch.Tensor) and _is_plain_sequence(y):
        y = torch.as_tensor(y, dtype=x.dtype)
    elif isinstance(y, torch.Tensor) and _is_plain_sequence(x):
        x = torch.as_tensor(x, dtype=y.dtype)
    ours, theirs = (
        value if isinstance(value, torch.Tensor) else torch.as_tensor(np.asarray(value))
        for value in (x, y)
    )
    return ours.detach().cpu(), theirs.detach().cpu()


def _share_of_differences(x: torch.Tensor, y: torch.Tensor, limit: float) -> float:
    """The share of elements, 0 to 1, that differ: absolutely or relatively, whichever are fewer."""
    if x.numel() == 0:
        return 0.0
    if x.dtype == torch.bool:
        return (x != y).double().mean().item()
    tiny = _TINY_HALF if x.dtype == torch.float16 else _TINY
    ours, theirs = x.double(), y.double()
    difference = (ours - theirs).abs()
    relative = difference / (torch.maximum(ours.abs(), theirs.abs()) + tiny)
    # Of a NaN neither is true, so that it counts as different.
    shares = (1 - (each <= limit).double().mean().item() for each in (difference, relative))
    return min(shares)


class _MaybeWarns(warnings.catch_warnings):
    """The context of `maybeWarnsRegex`."""

    def __init__(self, case: unittest.TestCase, category: type[Warning], regex: str) -> None:
        super().__init__(record=True)
        self._case, self._category, self._regex = case, category, regex

    def __enter__(self) -> None:
        self._caught: Any = super().__enter__()
        warnings.simplefilter("always")

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if error[0] is not None:
            return
        for each in self._caught:
            self._case.assertTrue(issubclass(each.category, self._category), str(each.message))
            self._case.assertRegex(str(each.message), self._regex)
