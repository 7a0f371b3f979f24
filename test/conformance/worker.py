"""What a worker does: it runs units of the suite, sample by sample, and reports as it goes."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import torch

from . import kinds, leeway, outcomes, routes, samples
from .kinds import NOT_APPLICABLE
from .processes import At
from .samples import seed

UNINITIALISED = ("empty", "new_empty", "resize")  # how names begin whose values are undefined

_SEED = 20

# Our kernels may be more exact than the CPU's in these: float64 judges where they differ.
LOW_PRECISION = (torch.float16, torch.bfloat16)


def _in_float64(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor) or leaf.dtype not in LOW_PRECISION:
        return leaf
    return leaf.detach().double().requires_grad_(leaf.requires_grad)


@dataclasses.dataclass(frozen=True)
class Unit:
    """One kind of one entry and dtype. `limit` 0 means every sample."""

    entry: int  # index into the database
    dtype: torch.dtype
    kind: str
    device: str
    limit: int
    official: bool = False  # the official torch_npu: see _run_sample


@dataclasses.dataclass
class Tally:
    """Sent when a unit is done: per route the samples, those that passed, and why one did not."""

    routes: dict[str, tuple[int, int, str]] = dataclasses.field(default_factory=dict)
    failed: bool = False
    raised: bool = False  # on the device
    fallbacks: Counter[str] = dataclasses.field(default_factory=Counter)

    def add(self, route: str, reason: str | None) -> None:
        count, passed, first = self.routes.get(route, (0, 0, ""))
        self.failed = self.failed or reason is not None
        self.routes[route] = (count + 1, passed + (reason is None), first or reason or "")


def run_unit(unit: Unit, left_out: frozenset[int], connection: Connection) -> Tally:
    from torch.testing._internal.common_methods_invocations import op_db

    entry = op_db[unit.entry]
    tally = Tally()
    connection.send(At(-1, "cpu"))
    for index, arguments in enumerate(_samples(entry, unit)):
        if index in left_out:
            continue
        _run_sample(entry, unit, index, arguments, connection, tally)
        if unit.official and (tally.failed or tally.raised):
            break
    return tally


def _samples(entry: Any, unit: Unit) -> Iterator[samples.Arguments]:
    """Up to one that the database cannot make."""
    requires_grad = unit.kind == "backward" or (
        unit.kind == "layout" and kinds.applies(entry, "backward", unit.dtype)
    )
    try:
        if unit.kind == "layout":
            yield from samples.in_layouts(entry, unit.dtype, requires_grad, unit.limit)
            return
        if unit.limit:
            yield from samples.few(
                entry, unit.dtype, requires_grad, unit.limit, conjugates=not unit.official
            )
        else:
            yield from samples.every(entry, unit.dtype, requires_grad)
    except Exception as error:
        print(f"{entry.full_name} {unit.dtype} {unit.kind}: {outcomes.short(error)}", flush=True)


def _run_sample(
    entry: Any,
    unit: Unit,
    index: int,
    arguments: samples.Arguments,
    connection: Connection,
    tally: Tally,
) -> None:
    """The official torch_npu is of no use after an error on the device: its units end there. It may
    accept what the CPU refuses. Its samples are not conjugated, as its matrix products take such
    tensors for what they are views of."""
    device = unit.device
    call = kinds.call_for(entry, unit.kind)
    connection.send(At(index, device))
    copies = outcomes.attempt(lambda: arguments.on(device))
    host_copies = arguments.on("cpu")
    connection.send(At(index, "cpu"))
    expected = outcomes.attempt(lambda: _seeded(call, host_copies, "cpu"))
    if expected.value is NOT_APPLICABLE:
        return
    connection.send(At(index, device))
    if copies.error is not None:
        tally.add(routes.OWN, f"moving the sample: {copies}")
        return
    before = routes.fallback_counts(device)
    actual = outcomes.attempt(lambda: _seeded(call, copies.value, device))
    tally.raised = actual.error is not None
    if unit.official and expected.error is not None and actual.error is None:
        return
    fell_back = routes.fallback_counts(device) - before
    reason = _reason(entry, unit, expected, actual, values=True)
    if reason is not None and not _defined(entry, call, arguments):
        reason = _reason(entry, unit, expected, actual, values=False)
    if reason is not None and reason.startswith("values") and unit.dtype in LOW_PRECISION:
        exact = outcomes.attempt(lambda: _seeded(call, arguments.map(_in_float64), "cpu"))
        if outcomes.is_no_less_exact(actual, expected, exact):
            reason = _reason(entry, unit, expected, actual, values=False)
    tally.fallbacks.update(fell_back.keys())
    if fell_back:
        tally.add(routes.FALLBACK, reason)
    else:
        tally.add(_kernel_route(entry, unit, call, arguments), reason)
    _settle(device)


def _reason(
    entry: Any, unit: Unit, expected: outcomes.Outcome, actual: outcomes.Outcome, values: bool
) -> str | None:
    allowed = leeway.official() if unit.official else leeway.NONE
    return outcomes.disagreement(expected, actual, unit.device, values, allowed, entry.full_name)


def _defined(entry: Any, call: kinds.Call, arguments: samples.Arguments) -> bool:
    """Whether the CPU's values follow from the arguments alone: not random, not uninitialised."""
    if entry.name.startswith(UNINITIALISED):
        return False
    recorder = routes.Recorder()
    copies = arguments.on("cpu")
    with recorder:
        outcomes.attempt(lambda: call(copies, "cpu"))
    return not recorder.drew_random_numbers()


def _seeded(call: kinds.Call, arguments: samples.Arguments, device: str) -> Any:
    seed(device, _SEED)
    with _default_device(arguments, device):
        value = call(arguments, device)
    if device == "npu":
        torch.npu.synchronize()
    return value


def _default_device(
    arguments: samples.Arguments, device: str
) -> contextlib.AbstractContextManager[Any]:
    """For calls that name no device in any way: `torch.arange(5)` means the default one."""
    names_device = "device" in arguments.kwargs or any(
        isinstance(leaf, torch.Tensor) for leaf in arguments.leaves()
    )
    return contextlib.nullcontext() if names_device else torch.device(device)


def _settle(device: str) -> None:
    """What a failed sample left behind must not reach the next one."""
    if device == "npu":
        outcomes.attempt(torch.npu.synchronize)


_known_routes: dict[tuple[Any, ...], str] = {}


def _kernel_route(entry: Any, unit: Unit, call: kinds.Call, arguments: samples.Arguments) -> str:
    """Of a unit whose calls do not fall back: by one more call, whose operators are recorded."""
    key = (unit.entry, unit.kind, unit.dtype)
    if key not in _known_routes:
        recorder = routes.Recorder()
        with recorder:
            copies = outcomes.attempt(lambda: arguments.on(unit.device))
            recorder.functions.clear()
            if copies.error is None:
                outcomes.attempt(lambda: _seeded(call, copies.value, unit.device))
        _known_routes[key] = routes.kernel_route(recorder)
    return _known_routes[key]
