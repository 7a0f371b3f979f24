"""One test of a method for each dtype, format or operator."""

from __future__ import annotations

import unittest
from typing import Any

import pytest
import torch

from torch_npu.testing import common_methods_invocations
from torch_npu.testing.decorator import (
    Dtypes,
    Formats,
    feed_data,
    instantiate_ops_tests,
    instantiate_tests,
)


def run(cls: type[unittest.TestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(cls).run(result)
    return result


@pytest.mark.covers("torch_npu.testing.decorator.instantiate_tests")
def test_a_test_for_each_dtype_and_format() -> None:
    seen = []

    @instantiate_tests
    class Inner(unittest.TestCase):
        @Dtypes(torch.float16, torch.int32)
        @Formats(0, 2)
        def test_both(self, device: str, dtype: torch.dtype, npu_format: int) -> None:
            seen.append((device, dtype, npu_format))

        @Dtypes(torch.bool)
        def test_one(self, a_dtype: torch.dtype) -> None:
            seen.append(a_dtype)

        def test_plain(self) -> None:
            seen.append("plain")

    names = [name for name in vars(Inner) if name.startswith("test_")]
    assert sorted(names) == [
        "test_both_float16_0",
        "test_both_float16_2",
        "test_both_int32_0",
        "test_both_int32_2",
        "test_one_bool",
        "test_plain",
    ]
    assert run(Inner).wasSuccessful()
    assert len(seen) == 6
    assert ("npu", torch.int32, 2) in seen
    assert torch.bool in seen


def test_a_failing_test_fails_for_its_dtype_only() -> None:
    @instantiate_tests
    class Inner(unittest.TestCase):
        @Dtypes(torch.float16, torch.int32)
        def test_floating(self, dtype: torch.dtype) -> None:
            self.assertTrue(dtype.is_floating_point)

    failures = run(Inner).failures
    assert [test._testMethodName for test, _ in failures] == ["test_floating_int32"]


@pytest.mark.covers("torch_npu.testing.decorator.Dtypes", "torch_npu.testing.decorator.Formats")
def test_what_cannot_be_instantiated_is_an_error() -> None:
    with pytest.raises(ValueError, match="No dtypes"):
        Dtypes()
    with pytest.raises(TypeError, match="Unknown dtype"):
        Dtypes("float32")
    with pytest.raises(ValueError, match="No formats"):
        Formats()
    with pytest.raises(RuntimeError, match="one parameter for the dtype"):

        @instantiate_tests
        class Inner(unittest.TestCase):
            @Dtypes(torch.bool)
            def test_none(self) -> None: ...


@pytest.mark.covers("torch_npu.testing.decorator.feed_data")
def test_arguments_are_fed() -> None:
    def method(self: Any, x: int, y: int = 0) -> int:
        return x + y

    fed = feed_data(method, "fed", 1, y=2)
    assert fed.__name__ == "fed"
    assert fed(None) == 3


@pytest.mark.covers(
    "torch_npu.testing.decorator.instantiate_ops_tests",
    "torch_npu.testing.decorator.gen_op_input",
    "torch_npu.testing.decorator.gen_ops_testcase",
)
@pytest.mark.timeout(1800)
def test_a_test_for_each_operator_dtype_and_format() -> None:
    named = {each.name: each for each in common_methods_invocations.op_db}
    seen = []

    @instantiate_ops_tests([named["add"], named["nn.functional.relu"]])
    class Inner(unittest.TestCase):
        @Dtypes(torch.float32, torch.int64)
        def test_correctness(self, dtype: torch.dtype, op: Any, npu_format: int) -> None:
            seen.append((op.name, dtype, npu_format))
            for sample in op.sample_inputs("cpu", dtype):
                expected = op(sample.input, *sample.args, **sample.kwargs)
                on_npu = sample.transform(lambda x: x.npu() if isinstance(x, torch.Tensor) else x)
                actual = op(on_npu.input, *on_npu.args, **on_npu.kwargs)
                torch.testing.assert_close(actual.cpu(), expected)

        def test_variant_consistency_eager(
            self, dtype: torch.dtype, op: Any, npu_format: int
        ) -> None:
            self.assertIs(dtype, torch.float32)

    names = {name for name in vars(Inner) if name.startswith("test_")}
    assert "test_correctness_nn_functional_relu_int64_2" in names
    assert "test_variant_consistency_eager_add_float32_2" in names
    assert len(names) == 6
    result = run(Inner)
    assert result.testsRun == 6
    assert not result.errors
    assert not result.failures
    # PyTorch's own decorators may skip one; those that are not skipped have run.
    assert len(seen) == 4 - len([1 for test, _ in result.skipped if "correct" in str(test)])


@pytest.mark.covers("torch_npu.testing.common_methods_invocations.sample_inputs_median_custom")
def test_the_samples_of_median_have_one_answer() -> None:
    samples = list(
        common_methods_invocations.sample_inputs_median_custom(None, "npu", torch.float32, True)
    )
    assert len(samples) == 7
    for sample in samples:
        assert sample.input.device.type == "npu"
        assert sample.input.requires_grad
        assert sample.input.unique().numel() == sample.input.numel()
        torch.median(sample.input, *sample.args)


@pytest.mark.covers(
    "torch_npu.testing.common_methods_invocations.sample_inputs_normal_tensor_second"
)
def test_the_samples_of_normal_have_deviations() -> None:
    samples = common_methods_invocations.sample_inputs_normal_tensor_second(
        None, "npu", torch.float32, False
    )
    for sample in samples:
        deviation = sample.args[0]
        assert deviation.device.type == "npu"
        assert (deviation >= 0).all()
        assert torch.normal(sample.input, deviation).shape == deviation.shape
