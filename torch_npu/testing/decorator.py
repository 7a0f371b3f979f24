"""One test of a method for each dtype, private format or operator.

::

    @instantiate_tests
    class TestAbs(TestCase):
        @Dtypes(torch.float16, torch.float32)
        @Formats(0, 2)
        def test_abs(self, device, dtype, npu_format): ...

makes `test_abs_float16_0`, `test_abs_float16_2` and so on.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import torch

Method = Callable[..., Any]


class Dtypes:
    """Decorates a test method with the dtypes that it is to be run with."""

    def __init__(self, *args: torch.dtype) -> None:
        if not args:
            raise ValueError("No dtypes given")
        if not all(isinstance(each, torch.dtype) for each in args):
            raise TypeError(f"Unknown dtype in {args}")
        self.args = args

    def __call__(self, fn: Any) -> Any:
        fn.dtypes = self.args
        return fn


class Formats:
    """Decorates a test method with the private formats, by number, that it is to be run with."""

    def __init__(self, *args: int) -> None:
        if not args:
            raise ValueError("No formats given")
        self.args = args

    def __call__(self, fn: Any) -> Any:
        fn.formats = self.args
        return fn


def feed_data(func: Method, new_name: str, *args: Any, **kwargs: Any) -> Method:
    """A test method named `new_name` that calls `func` with these arguments."""

    @functools.wraps(func)
    def wrapper(self: Any) -> Any:
        return func(self, *args, **kwargs)

    wrapper.__name__ = new_name
    # unittest and pytest look at the signature, which is that of a method without arguments.
    del wrapper.__wrapped__
    return wrapper


def instantiate_tests(arg: type | None = None, **kwargs: Any) -> Any:
    """Decorates a test class: makes the tests of each method that has dtypes or formats.

    The method's parameters are found by what their names contain: "dtype" and "format"; one named
    `device` is "npu". Raises `RuntimeError` where two or none of them fit.
    """
    if kwargs:
        raise TypeError(f"instantiate_tests takes a class, and no {', '.join(kwargs)}")

    def decorate(cls: type) -> type:
        for name, method in list(vars(cls).items()):
            axes = {
                kind: values
                for kind, values in (
                    ("dtype", getattr(method, "dtypes", None)),
                    ("format", getattr(method, "formats", None)),
                )
                if values is not None
            }
            if axes:
                delattr(cls, name)
                for values in itertools.product(*axes.values()):
                    _add_test(cls, name, method, dict(zip(axes, values, strict=True)))
        return cls

    return decorate if arg is None else decorate(arg)


def _add_test(cls: type, name: str, method: Method, values: dict[str, Any]) -> None:
    parameters = inspect.getfullargspec(method).args
    given = {"device": "npu"} if "device" in parameters else {}
    for kind, value in values.items():
        fitting = [each for each in parameters if kind in each]
        if len(fitting) != 1:
            raise RuntimeError(f"{name} needs one parameter for the {kind}, and has {fitting}")
        given[fitting[0]] = value
        name += f"_{_short(value)}"
    setattr(cls, name, feed_data(method, name, **given))


def _short(value: Any) -> str:
    return str(value).removeprefix("torch.")


# Operators ----------------------------------------------------------------------------------------


def instantiate_ops_tests(op_db: Iterable[Any]) -> Callable[[type], type]:
    """Decorates a test class: makes, of each test method, one test for each operator, dtype and
    format. A method takes `op`, `dtype` and `npu_format`.
    """
    operators = list(op_db)

    def decorate(cls: type) -> type:
        for name in [each for each in vars(cls) if each.startswith("test_")]:
            method = vars(cls)[name]
            delattr(cls, name)
            for operator in operators:
                axes = gen_op_input(name, method, operator)
                for values in itertools.product(*axes.values()):
                    gen_ops_testcase(cls, method, operator.name, axes.keys(), values, operator)
        return cls

    return decorate


def gen_op_input(testcase: str, func: Any, op_info: Any) -> dict[str, Iterable[Any]]:
    """The dtypes and formats to test an operator with: those of the method, else the operator's.

    Tests of eager variants, by their name, are run with one dtype, float32 if there is.
    """
    dtypes = getattr(func, "dtypes", None) or op_info.dtypesIfNPU
    if "test_variant_consistency_eager" in testcase:
        one = (
            torch.float32 if torch.float32 in op_info.dtypesIfNPU else list(op_info.dtypesIfNPU)[-1]
        )
        dtypes = (one,)
    return {"dtype": dtypes, "npu_format": getattr(func, "formats", None) or op_info.formats}


def gen_ops_testcase(
    cls: type,
    func: Method,
    name: str,
    keys: Iterable[str],
    value: Iterable[Any],
    op_info: Any,
) -> None:
    """Adds to `cls` the test of one operator with one value for each of `keys`."""
    given = dict(zip(keys, value, strict=True))
    test_name = "_".join((func.__name__, name.replace(".", "_"), *map(_short, given.values())))
    test = feed_data(func, test_name, op=op_info, **given)
    decorators = op_info.get_decorators(cls.__name__, func.__name__, "cpu", given.get("dtype"), {})
    for decorator in decorators:
        test = decorator(test)
    setattr(cls, test_name, test)
