"""The test class, used by tests that are run inside of these."""

from __future__ import annotations

import subprocess
import sys
import unittest
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from torch_npu.testing.testcase import TestCase

INF, NAN = float("inf"), float("nan")


@pytest.fixture
def case() -> TestCase:
    TestCase.setUpClass()
    case = TestCase()
    case.setUp()
    return case


def fails(
    call: Callable[..., Any], *arguments: Any, match: str | None = None, **options: Any
) -> None:
    with pytest.raises(AssertionError, match=match):
        call(*arguments, **options)


@pytest.mark.covers(
    "torch_npu.testing.testcase.TestCase",
    "torch_npu.testing.testcase.TestCase.run",
    "torch_npu.testing.testcase.TestCase.setUp",
    "torch_npu.testing.testcase.TestCase.setUpClass",
)
@pytest.mark.covers(
    "torch_npu.testing.testcase.TestCase.setUp", "torch_npu.testing.testcase.TestCase.setUpClass"
)
def test_a_test_passes_fails_and_starts_from_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    class Inner(TestCase):
        def test_pass(self) -> None:
            drawn.append(torch.rand(3))
            assert self.npu_device == "npu:1"
            self.assertEqual(torch.npu.current_device(), 1)

        def test_pass_again(self) -> None:
            drawn.append(torch.rand(3))

        def test_fail(self) -> None:
            self.assertEqual(torch.ones(2, device="npu"), torch.zeros(2))

    monkeypatch.setenv("SET_NPU_DEVICE", "1")
    device = torch.npu.current_device()
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Inner).run(result)
    torch.npu.set_device(device)
    assert result.testsRun == 3
    assert [test._testMethodName for test, _ in result.failures] == ["test_fail"]
    assert not result.errors
    assert torch.equal(*drawn)


@pytest.mark.covers("torch_npu.testing.testcase.TestCase.assertEqual")
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_equal_within_the_precision(case: TestCase, device: str) -> None:
    x = torch.tensor([1.0, NAN], device=device)
    case.assertEqual(x, torch.tensor([1.0 + 5e-6, NAN]))
    fails(case.assertEqual, x, torch.tensor([1.0 + 5e-5, NAN]))
    case.assertEqual(x, torch.tensor([1.5, NAN]), 0.6)
    case.assertEqual(x, torch.tensor([1.5, NAN]), prec=0.6)
    fails(case.assertEqual, x, torch.tensor([NAN, 1.0]))
    fails(case.assertEqual, x, torch.ones(3))
    fails(case.assertEqual, torch.ones(2), torch.zeros(2), "what it was", match="what it was")
    case.precision = 1.0
    case.assertEqual(torch.ones(2), torch.full((2,), 1.5))


def test_dtypes_count_only_when_asked_for(case: TestCase) -> None:
    ints, floats = torch.tensor([1, 2]), torch.tensor([1.0, 2.0])
    case.assertEqual(ints, floats)
    fails(case.assertEqual, ints, floats, exact_dtype=True)
    case.exact_dtype = True
    fails(case.assertEqual, ints, floats)


def test_equal_compares_what_is_nested(case: TestCase) -> None:
    x = {"a": [torch.ones(2, device="npu"), 3], "b": (True, "text")}
    case.assertEqual(x, {"a": [torch.ones(2), 3], "b": (True, "text")})
    fails(case.assertEqual, x, {"a": [torch.ones(2), 4], "b": (True, "text")})
    case.assertEqual(np.float32(1), 1.0)
    case.assertEqual({1, 2}, {2, 1})


def test_infinities_are_refused_unless_allowed(case: TestCase) -> None:
    for x in (INF, torch.tensor([1.0, -INF]), [torch.tensor(INF, device="npu")], {"a": INF}):
        fails(case.assertEqual, x, x, match="finite")
        case.assertEqual(x, x, allow_inf=True)
    fails(case.assertEqual, torch.tensor([INF]), torch.tensor([-INF]), allow_inf=True)
    case.assertNotEqual(INF, 1.0)


@pytest.mark.covers("torch_npu.testing.testcase.TestCase.assertNotEqual")
def test_not_equal(case: TestCase) -> None:
    case.assertNotEqual(torch.ones(2), torch.zeros(2))
    case.assertNotEqual("a", "b")
    fails(case.assertNotEqual, torch.ones(2), torch.ones(2, device="npu"))
    fails(case.assertNotEqual, 1.0, 1.1, 0.2, "too near", match="too near")


@pytest.mark.covers("torch_npu.testing.testcase.TestCase.assertAlmostEqual")
def test_almost_equal(case: TestCase) -> None:
    case.assertAlmostEqual(1.0, 1.0 + 1e-8)
    fails(case.assertAlmostEqual, 1.0, 1.001)
    case.assertAlmostEqual(1.0, 1.001, places=2)
    case.assertAlmostEqual(torch.ones(2), torch.full((2,), 1.2), delta=0.3)
    with pytest.raises(TypeError, match="not both"):
        case.assertAlmostEqual(1.0, 1.0, places=1, delta=0.1)


@pytest.mark.covers("torch_npu.testing.testcase.TestCase.assertRtolEqual")
def test_rtol_equal_allows_a_share_of_differences(case: TestCase) -> None:
    x = torch.ones(10000, device="npu")
    y = torch.ones(10000)
    case.assertRtolEqual(x, y)
    y[0] = 2
    case.assertRtolEqual(x, y)
    y[1] = 2
    fails(case.assertRtolEqual, x, y, match="result error")
    case.assertRtolEqual(x, y, 1e-3)
    y[:20] = NAN
    fails(case.assertRtolEqual, x, y)


def test_rtol_equal_is_absolute_or_relative(case: TestCase) -> None:
    case.assertRtolEqual(torch.tensor([1e-6]), torch.tensor([5e-6]))
    case.assertRtolEqual(torch.tensor([1e6]), torch.tensor([1e6 + 50]))
    fails(case.assertRtolEqual, torch.tensor([1.0]), torch.tensor([1.001]))
    half = torch.tensor([1.0], dtype=torch.float16)
    case.assertRtolEqual(half, half + 0.0009)
    fails(case.assertRtolEqual, half, half + 0.01)


def test_rtol_equal_takes_arrays_numbers_and_sequences(case: TestCase) -> None:
    case.assertRtolEqual(np.ones(3, np.float32), np.ones(3, np.float32))
    case.assertRtolEqual(1.0, 1.0)
    case.assertRtolEqual([torch.ones(2), torch.zeros(1)], [torch.ones(2), torch.zeros(1)])
    case.assertRtolEqual(torch.ones(2), [1, 1])
    fails(case.assertRtolEqual, [torch.ones(2)], [torch.ones(2), torch.ones(2)], match="lengths")
    fails(case.assertRtolEqual, 1.0, 2.0)


def test_rtol_equal_wants_the_same_shape_and_dtype(case: TestCase) -> None:
    fails(case.assertRtolEqual, torch.ones(2), torch.ones(2, 1), match="shape error")
    fails(case.assertRtolEqual, torch.ones(2), torch.ones(2).double(), match="dtype error")
    case.assertRtolEqual(torch.ones(2), torch.ones(2).double(), auto_trans_dtype=True)
    bfloat = torch.ones(2, dtype=torch.bfloat16)
    fails(case.assertRtolEqual, bfloat, bfloat, match="not compared")
    bools = torch.zeros(100000, dtype=torch.bool)
    others = bools.clone()
    others[7] = True
    fails(case.assertRtolEqual, bools, others, match="result error")
    fails(case.assertRtolEqual, torch.ones(2), torch.zeros(2), message="mine", match="mine")


@pytest.mark.covers("torch_npu.testing.testcase.TestCase.assertTensorsSlowEqual")
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_tensors_are_compared_one_element_after_the_other(case: TestCase, device: str) -> None:
    x = torch.arange(6.0, device=device).reshape(2, 3)
    case.assertTensorsSlowEqual(x, x.clone(), 0)
    fails(case.assertTensorsSlowEqual, x, x + 1, 0.5)
    fails(case.assertTensorsSlowEqual, x, torch.full((2, 3), NAN, device=device), 0.5)
    fails(case.assertTensorsSlowEqual, x, x.int(), 0.5)


@pytest.mark.covers(
    "torch_npu.testing.testcase.TestCase.genSparseTensor",
    "torch_npu.testing.testcase.TestCase.safeCoalesce",
    "torch_npu.testing.testcase.TestCase.safeToDense",
)
def test_sparse_tensors(case: TestCase) -> None:
    x, indices, values = case.genSparseTensor((4, 5), 2, 6, True)
    assert x.layout == torch.sparse_coo
    assert x._nnz() == values.shape[0] == indices.shape[1] == 6
    dense = case.safeToDense(x)
    torch.testing.assert_close(dense, x.to_dense())
    case.assertEqual(case.safeCoalesce(x), x)
    fails(case.assertEqual, x, 2 * x)


@pytest.mark.covers(
    "torch_npu.testing.testcase.TestCase.assertWarns",
    "torch_npu.testing.testcase.TestCase.assertNotWarn",
    "torch_npu.testing.testcase.TestCase.maybeWarnsRegex",
)
def test_warnings(case: TestCase) -> None:
    def warn() -> None:
        warnings.warn("careful", UserWarning, stacklevel=2)

    case.assertWarns(warn)
    fails(case.assertWarns, lambda: None, "nothing came", match="nothing came")
    with case.assertWarns(UserWarning):
        warn()
    case.assertNotWarn(lambda: None)
    fails(case.assertNotWarn, warn)
    with case.maybeWarnsRegex(UserWarning, "care"):
        warn()
    with case.maybeWarnsRegex(UserWarning, "care"):
        pass
    with pytest.raises(AssertionError), case.maybeWarnsRegex(UserWarning, "other"):
        warn()


@pytest.mark.covers("torch_npu.testing.testcase.TestCase.assertObjectIn")
def test_objects_in_a_sequence_are_found_by_identity(case: TestCase) -> None:
    one, other = torch.ones(2), torch.ones(2)
    case.assertObjectIn(one, [other, one])
    fails(case.assertObjectIn, one, [other])


@pytest.mark.covers(
    "torch_npu.testing.testcase.TestCase.assertExpectedRaises",
    "torch_npu.testing.testcase.TestCase.assertExpectedStripMangled",
)
def test_expected_output_is_kept_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Inner(TestCase):
        def test_output(self) -> None:
            self.assertExpectedStripMangled("a __torch__.Name here", "text")
            self.assertExpectedRaises(ValueError, lambda: int("x"), subname="error")

    module = ModuleType("module_of_inner")
    module.__file__ = str(tmp_path / "module_of_inner.py")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    Inner.__module__ = module.__name__
    Inner.setUpClass()
    case = Inner("test_output")
    prefix = tmp_path / "expect" / case.id().removeprefix("module_of_inner.")
    prefix.parent.mkdir()
    Path(f"{prefix}-text.expect").write_text("a  here")
    error = Path(f"{prefix}-error.expect")
    error.write_text("invalid literal for int() with base 10: 'x'")
    case.test_output()
    error.write_text("another error")
    with pytest.raises(AssertionError, match="another error"):
        case.test_output()
    with pytest.raises(AssertionError, match="Did not raise"):
        case.assertExpectedRaises(ValueError, lambda: None)


@pytest.mark.covers("torch_npu.testing.testcase.run_tests", traced=False)
def test_a_file_runs_its_tests(tmp_path: Path) -> None:
    file = tmp_path / "cases.py"
    file.write_text(
        "from torch_npu.testing.testcase import TestCase, run_tests\n"
        "class Cases(TestCase):\n"
        "    def test_one(self):\n"
        "        self.assertEqual(1, 1)\n"
        "    def test_two(self):\n"
        "        self.assertEqual(1, 2)\n"
        "run_tests()\n"
    )
    commands = ([sys.executable, str(file)], [sys.executable, str(file), "Cases.test_one"])
    both, one = (
        subprocess.run(command, capture_output=True, text=True, check=False) for command in commands
    )
    assert both.returncode == 1
    assert "FAIL: test_two" in both.stderr
    assert one.returncode == 0, one.stderr
    assert "Ran 1 test" in one.stderr
