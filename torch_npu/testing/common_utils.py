"""Helpers of tests: devices, random inputs in pairs, conditions, stored baselines."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import threading
import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_utils import is_iterable, iter_indices, skipIfNoLapack

from torch_npu.npu._utils import _unavailable
from torch_npu.utils.cann_version import get_cann_version

__all__ = [
    "PERF_BASELINE_FILE",
    "PERF_TEST_ENABLE",
    "Baseline",
    "PerfBaseline",
    "SkipIfNoLapack",
    "SkipIfNotGteCANNVersion",
    "SkipIfNotRegistered",
    "SupportedDevices",
    "check_operators_in_prof",
    "create_common_tensor",
    "create_dtype_tensor",
    "dump_baseline",
    "freeze_rng_state",
    "get_cycles_per_ms",
    "get_npu_device",
    "is_iterable",
    "iter_indices",
    "set_npu_device",
    "test_2args_broadcast",
]

Pair = tuple[torch.Tensor, torch.Tensor]


def get_npu_device() -> str:
    """The device that tests use: `npu:` and the number in `SET_NPU_DEVICE`, 0 by default."""
    return f"npu:{os.environ.get('SET_NPU_DEVICE', '0')}"


def set_npu_device() -> str:
    """Selects the device that tests use, and returns its name."""
    device = get_npu_device()
    torch.npu.set_device(device)  # type: ignore[attr-defined]
    return device


@contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Gives the CPU's random numbers and, once a device is in use, those of `npu` back at its end,
    also where an exception ends it."""
    npu: Any = torch.npu  # type: ignore[attr-defined]
    state = torch.get_rng_state()
    device_state = npu.get_rng_state() if npu.is_initialized() else None
    try:
        yield
    finally:
        torch.set_rng_state(state)
        if device_state is not None:
            npu.set_rng_state(device_state)


# Inputs -------------------------------------------------------------------------------------------


def create_common_tensor(
    item: Sequence[Any], minValue: float, maxValue: float, device: str | None = None
) -> Pair:
    """Uniform random numbers from `minValue` to `maxValue`, on the CPU and on `npu`.

    `item` is (numpy dtype, format of the `npu` tensor or -1 for none, shape).
    """
    dtype, npu_format, shape = item
    values = np.random.uniform(minValue, maxValue, shape).astype(dtype)
    return _pair(values, npu_format, device)


def create_dtype_tensor(
    shape: Sequence[int],
    dtype: torch.dtype,
    npu_format: int = -1,
    min_value: float = -5,
    max_value: float = 5,
    no_zero: bool = False,
    device: str | None = None,
) -> Pair:
    """Random numbers of `dtype` from `min_value` to `max_value`, on the CPU and on `npu`.

    Integers include `max_value`; `no_zero` puts 1 where one would be 0. The format is that of a
    floating `npu` tensor; -1 casts to none.
    """
    values: Any
    if dtype == torch.bool:
        values = np.random.randint(0, 2, size=shape)
    elif dtype.is_floating_point:
        values = np.random.uniform(min_value, max_value, shape)
    else:
        values = np.random.randint(int(min_value), int(max_value) + 1, size=shape)
    if no_zero:
        values = np.where(values != 0, values, np.ones_like(values))
    tensor = torch.from_numpy(np.asarray(values)).to(dtype)
    return _pair(tensor, npu_format if dtype.is_floating_point else -1, device)


def _pair(values: Any, npu_format: int, device: str | None) -> Pair:
    tensor = values if isinstance(values, torch.Tensor) else torch.from_numpy(np.asarray(values))
    on_npu = tensor.to(device or get_npu_device())
    if npu_format != -1:
        import torch_npu

        on_npu = torch_npu.npu_format_cast(on_npu, npu_format)  # type: ignore[attr-defined]
    return tensor, on_npu


def test_2args_broadcast(fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> list[Any]:
    """[result on the CPU, result on `npu`] of `fn` as arrays, for each way to broadcast.

    The first argument has the shape (2, 3, 4, 5), the second (1, 1, 1) and then (4, 5).
    """
    outputs = []
    for shape in ((1, 1, 1), (4, 5)):
        first, second = (
            create_common_tensor((np.float32, -1, each), 0, 1) for each in ((2, 3, 4, 5), shape)
        )
        outputs.append([fn(x, y).cpu().numpy() for x, y in zip(first, second, strict=True)])
    return outputs


# pytest would take it for a test.
test_2args_broadcast.__test__ = False  # type: ignore[attr-defined]


def check_operators_in_prof(
    expected_operators: Sequence[str], prof: Any, unexpected_operators: Sequence[str] | None = None
) -> bool:
    """Whether a profile has all of the first operators and none of the others.

    `prof` has `key_averages()`, as PyTorch's profilers have. Raises `ValueError` where that is
    empty: nothing was recorded.
    """
    seen = {each.key for each in prof.key_averages()}
    if not seen:
        raise ValueError("the profile is empty: nothing ran while the profiler was on")
    return seen.issuperset(expected_operators) and seen.isdisjoint(unexpected_operators or ())


def get_cycles_per_ms() -> float:
    """How many cycles of a device's clock make a millisecond."""
    raise _unavailable(
        "torch_npu.testing.common_utils.get_cycles_per_ms()",
        "There is no kernel that spins for a number of cycles; keep a stream busy with an event "
        "that it waits for.",
    )


# Conditions ---------------------------------------------------------------------------------------


class SkipIfNoLapack:
    """Decorates a test that needs a PyTorch with LAPACK."""

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return skipIfNoLapack(fn)


class SkipIfNotRegistered:
    """Decorates a test that needs an operator: `SkipIfNotRegistered()("aten::add", "why")`."""

    def __call__(self, op_name: str, message: str) -> Callable[..., Any]:
        missing = not torch._C._jit_get_schemas_for_operator(op_name)
        return unittest.skipIf(missing, message)


class SupportedDevices:
    """Decorates a test for the named devices, such as "Ascend910B", by how their names begin."""

    def __init__(self, supported_devices: Sequence[str]) -> None:
        self.supported_devices = tuple(supported_devices)

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def wrapper(*arguments: Any, **options: Any) -> Any:
            name = torch.npu.get_device_name()  # type: ignore[attr-defined]
            if not name.startswith(self.supported_devices):
                raise unittest.SkipTest(
                    f"{name} is none of the supported devices {', '.join(self.supported_devices)}"
                )
            return fn(*arguments, **options)

        return wrapper


class SkipIfNotGteCANNVersion:
    """Decorates a test that needs at least this version of CANN, or of the part `module`."""

    def __init__(self, base_version: str, module: str = "CANN") -> None:
        self.base_version, self.module = base_version, module

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def wrapper(*arguments: Any, **options: Any) -> Any:
            version = get_cann_version(self.module)
            if _version_key(version) < _version_key(self.base_version):
                raise unittest.SkipTest(
                    f"{self.module} is {version or 'of unknown version'}, and the test needs "
                    f"{self.base_version}"
                )
            return fn(*arguments, **options)

        return wrapper


def _version_key(version: str) -> tuple[tuple[int, int], ...]:
    """Makes versions comparable: 8.1.RC1 < 8.1.0 < 8.1.1 < 8.2; an unknown one is before all."""
    parts = []
    for part in re.findall(r"[a-zA-Z]+\d*|\d+", version):
        number = int(re.sub(r"\D", "", part) or 0)
        parts.append((number, 0) if part.isdigit() else (-1, number))
    return tuple(parts)


# Baselines of measurements ------------------------------------------------------------------------

PERF_TEST_ENABLE = os.environ.get("PERF_TEST_ENABLE", "").upper() in ("ON", "1", "YES", "TRUE", "Y")
PERF_BASELINE_FILE = os.environ.get(
    "PERF_BASELINE_FILE", os.path.join(os.getcwd(), "performance_baseline.json")
)


class Baseline:
    """Numbers by name, read from a JSON file if it exists, and written when asked for."""

    def __init__(self, baselineFile: str) -> None:
        self._path = Path(baselineFile)
        self._lock = threading.Lock()
        self._baseline = json.loads(self._path.read_text()) if self._path.exists() else {}

    def get_baseline(self, resourceId: str) -> Any:
        """What is known of that name, or `None`."""
        return self._baseline.get(resourceId)

    def set_baseline(self, resourceId: str, baseline: Any) -> None:
        """Remembers a number; `save_baseline` writes it."""
        with self._lock:
            self._baseline[resourceId] = baseline

    def save_baseline(self) -> None:
        """Writes the file, whole or not at all."""
        with self._lock:
            beside = self._path.with_name(self._path.name + ".new")
            beside.write_text(json.dumps(self._baseline))
            beside.replace(self._path)


PerfBaseline = Baseline(PERF_BASELINE_FILE) if PERF_TEST_ENABLE else None


@atexit.register
def dump_baseline() -> None:
    """Writes the baselines of this process, where `PERF_TEST_ENABLE` asks for them."""
    if PerfBaseline is not None:
        PerfBaseline.save_baseline()
