"""PyTorch's sample inputs as cases: one kind of one entry of a database, in one dtype.

    cd test && python -m official.opinfo_cases CASES OUT

CASES has a case in each line, `opinfo:NAME:KIND:DTYPE` or `foreach:NAME:KIND:DTYPE`. For each, OUT
gets a line of JSON: the case, whether it equals the CPU, why not, and the functions that ran. Runs
with the official torch_npu, and SOFTCANN_TRACE set. A process that has loaded the databases and
started no device forks workers; a worker ends at the first case that fails, because the wheel is of
no use after an error.
"""

from __future__ import annotations

import faulthandler
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from conformance import kinds, outcomes, routes, samples
from conformance.leeway import Leeway
from official.traced import Trace
from torch.testing._internal import common_methods_invocations as database

# The wheel lays results out in its own way.
ANY_LAYOUT = Leeway(layout=True)
SAMPLES = 2
SECONDS = 60  # a case that takes longer hangs
FOREACH_DATABASES = [
    "foreach_unary_op_db",
    "foreach_binary_op_db",
    "foreach_pointwise_op_db",
    "foreach_reduce_op_db",
    "foreach_other_op_db",
]


def foreach_entries() -> list[Any]:
    """The entries of operators on lists of tensors, which PyTorch keeps apart from the others."""
    return [entry for name in FOREACH_DATABASES for entry in getattr(database, name, [])]


def all_cases(dtypes: tuple[str, ...] = ("float32",)) -> list[str]:
    """Every case worth trying, in the databases' order: forward in several dtypes, other kinds in
    the first of them that the entry takes."""
    cases = []
    databases = (("foreach", foreach_entries()), ("opinfo", database.op_db))
    for kind in ("forward", "backward", "inplace"):
        for source, entries in databases:
            for entry in entries:
                supported = {str(d).removeprefix("torch.") for d in entry.supported_dtypes("cpu")}
                usable = [dtype for dtype in dtypes if dtype in supported] or sorted(supported)[:1]
                for dtype in usable if kind == "forward" else usable[:1]:
                    if _applies(source, entry, kind, getattr(torch, dtype)):
                        cases.append(f"{source}:{entry.full_name}:{kind}:{dtype}")
    return cases


def _applies(source: str, entry: Any, kind: str, dtype: torch.dtype) -> bool:
    if source == "foreach":
        return kind == "forward" or (kind == "inplace" and entry.inplace_variant is not None)
    return kinds.applies(entry, kind, dtype)


def run_case(case: str, trace: Trace) -> dict[str, Any]:
    source, name, kind, dtype_name = case.split(":")
    dtype = getattr(torch, dtype_name)
    entries = database.op_db if source == "opinfo" else foreach_entries()
    entry = next(entry for entry in entries if entry.full_name == name)
    trace.executed()
    result: dict[str, Any] = {"case": case, "equal": True, "reason": "", "functions": []}
    compared = 0
    functions: set[str] = set()
    call = kinds.call_for(entry, kind) if source == "opinfo" else _foreach_call(entry, kind)
    for arguments in _arguments(source, entry, kind, dtype):
        reason, counts = _compare(entry, call, arguments)
        ran = trace.executed()
        if reason:
            result.update(equal=False, reason=reason)
            break
        if counts:
            compared += 1
            functions |= ran
    result.update(functions=sorted(functions), compared=compared)
    return result


def _arguments(source: str, entry: Any, kind: str, dtype: torch.dtype) -> Iterator[Any]:
    if source == "opinfo":
        yield from samples.few(entry, dtype, kind == "backward", SAMPLES)
        return
    samples.seed("cpu", samples.seed_for(entry.full_name, dtype))
    for index, sample in enumerate(entry.sample_inputs("cpu", dtype, num_input_tensors=[3])):
        if index == 2 * SAMPLES:
            return
        keywords = {k: v for k, v in sample.kwargs.items() if k == "alpha"}
        yield samples.Arguments((sample.input, *sample.args), keywords)


def _foreach_call(entry: Any, kind: str) -> kinds.Call:
    def call(arguments: samples.Arguments, device: str) -> Any:
        if kind == "forward":
            return entry.method_variant(*arguments.args, **arguments.kwargs)
        targets = [tensor.clone() for tensor in arguments.args[0]]
        entry.inplace_variant(targets, *arguments.args[1:], **arguments.kwargs)
        return targets

    return call


def _compare(entry: Any, call: kinds.Call, arguments: Any) -> tuple[str, bool]:
    """Why the device is wrong, or nothing; and whether values were compared at all.

    What the CPU refuses is left out: an error ends the wheel's use of the device.
    """
    on_device, on_host = arguments.on("npu"), arguments.on("cpu")
    expected = outcomes.attempt(lambda: _seeded(call, on_host, "cpu"))
    if expected.error is not None or expected.value is kinds.NOT_APPLICABLE:
        return "", False
    actual = outcomes.attempt(lambda: _seeded(call, on_device, "npu"))
    reason = outcomes.disagreement(expected, actual, "npu", True, ANY_LAYOUT)
    if reason is None:
        return "", True
    if actual.error is None and not _defined(entry, call, arguments):
        reason = outcomes.disagreement(expected, actual, "npu", False, ANY_LAYOUT)
        return reason or "", False
    return reason, False


def _seeded(call: kinds.Call, arguments: Any, device: str) -> Any:
    samples.seed(device, 20)
    named = "device" in arguments.kwargs or any(
        isinstance(leaf, torch.Tensor) for leaf in arguments.leaves()
    )
    if named:
        value = call(arguments, device)
    else:
        with torch.device(device):
            value = call(arguments, device)
    if device == "npu":
        torch.npu.synchronize()
    return value


def _defined(entry: Any, call: kinds.Call, arguments: Any) -> bool:
    """Whether the CPU's values follow from the arguments alone."""
    recorder = routes.Recorder()
    copies = arguments.on("cpu")
    with recorder:
        outcomes.attempt(lambda: call(copies, "cpu"))
    return not entry.name.startswith(("empty", "new_empty")) and not recorder.drew_random_numbers()


def _serve(cases: list[str], connection: Connection, folder: str) -> None:
    log = os.open(Path(folder) / "workers.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    faulthandler.enable()
    torch.set_num_threads(1)
    trace = Trace(Path(os.environ["SOFTCANN_TRACE"]))
    for case in cases:
        try:
            result = run_case(case, trace)
        except Exception as error:  # of the database: it could not make a sample
            result = {"case": case, "equal": False, "reason": outcomes.short(error)}
        connection.send(result)
        if not result["equal"]:
            break
    connection.close()
    os._exit(0)  # nothing of the device is of interest any more


def run(cases: list[str], report: Callable[[dict[str, Any]], None]) -> None:
    """Runs all of them, whatever becomes of each."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        while cases:
            here, there = context.Pipe(duplex=False)
            worker = context.Process(target=_serve, args=(cases, there, folder))
            worker.start()
            there.close()
            equal = True
            while cases and equal:
                try:
                    if not here.poll(SECONDS):
                        worker.kill()
                        raise TimeoutError
                    result = here.recv()
                except TimeoutError:
                    result = {"case": cases[0], "equal": False, "reason": "hangs"}
                except EOFError:
                    result = {"case": cases[0], "equal": False, "reason": "crashes"}
                cases = cases[1:]
                equal = result["equal"]
                report(result)
            here.close()
            worker.join()


def main(source: str, target: str) -> None:
    torch.set_num_threads(1)
    cases = Path(source).read_text().split() if source != "all" else all_cases()
    with Path(target).open("a") as out:

        def report(result: dict[str, Any]) -> None:
            print(json.dumps(result), file=out, flush=True)

        run(cases, report)


if __name__ == "__main__":
    main(*sys.argv[1:])
