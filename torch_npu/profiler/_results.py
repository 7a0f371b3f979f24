"""The folder of one trace, and what is worked out of it."""

from __future__ import annotations

import csv
import json
import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch_npu

_FOLDERS = "*_ascend_pt"
_OUTPUT = "ASCEND_PROFILER_OUTPUT"
_DEVICE_CATEGORIES = {"kernel": "kernel", "gpu_memcpy": "memcpy"}

Event = dict[str, Any]


def raw_trace(folder: Path) -> Path:
    """Where the trace lies as the profiler wrote it."""
    return folder / "FRAMEWORK" / "torch.pt.trace.json"


def folders(path: Path) -> list[Path]:
    """The folders of traces at or right below `path`."""
    found = [path] if path.match(_FOLDERS) and path.is_dir() else sorted(path.glob(_FOLDERS))
    return [one for one in found if raw_trace(one).exists() or (one / _OUTPUT).is_dir()]


def write_info(folder: Path, config: dict[str, Any], metadata: dict[str, Any]) -> None:
    """Notes the profiler's options, and what `add_metadata` was given."""
    info = {"config": config, "torch_npu_version": torch_npu.__version__}
    _write_json(folder / "profiler_info.json", info)
    _write_json(folder / "profiler_metadata.json", metadata)


def write(folder: Path) -> None:
    """Works out the results; drops the unprocessed trace unless its profile was to keep it."""
    trace = raw_trace(folder)
    if not trace.exists():
        return
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    device = [event for event in events if event.get("cat") in _DEVICE_CATEGORIES]
    output = folder / _OUTPUT
    output.mkdir(exist_ok=True)
    _write_kernels(output / "kernel_details.csv", device)
    _write_statistic(output / "op_statistic.csv", device)
    _write_operators(output / "operator_details.csv", events, device)
    info = json.loads((folder / "profiler_info.json").read_text(encoding="utf-8"))
    if info["config"]["data_simplification"]:
        trace.rename(output / "trace_view.json")
        trace.parent.rmdir()
    else:
        shutil.copyfile(trace, output / "trace_view.json")


def _write_kernels(path: Path, device: Sequence[Event]) -> None:
    rows = [
        (
            event["pid"],
            event["args"]["stream"],
            event["name"],
            _DEVICE_CATEGORIES[event["cat"]],
            f"{event['ts']:.3f}",
            f"{event['dur']:.3f}",
        )
        for event in sorted(device, key=lambda event: event["ts"])
    ]
    head = ("Device_id", "Stream ID", "Name", "Type", "Start Time(us)", "Duration(us)")
    _write_table(path, head, rows)


def _write_statistic(path: Path, device: Sequence[Event]) -> None:
    durations: dict[tuple[int, str], list[float]] = defaultdict(list)
    totals: dict[int, float] = defaultdict(float)
    for event in device:
        durations[event["pid"], event["name"]].append(event["dur"])
        totals[event["pid"]] += event["dur"]
    rows = []
    for (index, name), times in sorted(durations.items(), key=lambda item: -sum(item[1])):
        total = sum(times)
        numbers = (total, min(times), total / len(times), max(times))
        ratio = 100 * total / totals[index] if totals[index] else 0.0
        row = [index, name, len(times), *(f"{time:.3f}" for time in numbers), f"{ratio:.3f}"]
        rows.append(row)
    times_head = ("Total Time(us)", "Min Time(us)", "Avg Time(us)", "Max Time(us)", "Ratio(%)")
    _write_table(path, ("Device_id", "OP Type", "Count", *times_head), rows)


def _write_operators(path: Path, events: Sequence[Event], device: Sequence[Event]) -> None:
    device_time: dict[int, float] = defaultdict(float)
    for event in device:
        device_time[event["args"].get("correlation", 0)] += event["dur"]
    operators = [event for event in events if event.get("cat") == "cpu_op"]
    rows = []
    for operator, children in _with_children(operators):
        own = device_time.get(operator["args"].get("External id"), 0.0)
        operator["device"] = own + sum(child["device"] for child in children)
        host = operator["dur"] - sum(child["dur"] for child in children)
        numbers = (host, operator["dur"], own, operator["device"])
        shapes = operator["args"].get("Input Dims", "")
        stack = operator["args"].get("Call stack", "")
        rows.append((operator["name"], shapes, stack, *(f"{time:.3f}" for time in numbers)))
    head = [
        f"{where} {what} Duration(us)" for where in ("Host", "Device") for what in ("Self", "Total")
    ]
    _write_table(path, ("Name", "Input Shapes", "Call Stack", *head), rows)


def _with_children(operators: Iterable[Event]) -> list[tuple[Event, list[Event]]]:
    """Each operator with those that it called directly, the called ones first."""
    result = []
    stacks: dict[Any, list[tuple[Event, list[Event]]]] = defaultdict(list)
    for operator in sorted(operators, key=lambda event: (event["ts"], -event["dur"])):
        stack = stacks[operator["tid"]]
        while stack and operator["ts"] >= stack[-1][0]["ts"] + stack[-1][0]["dur"]:
            result.append(stack.pop())
        node: tuple[Event, list[Event]] = (operator, [])
        if stack:
            stack[-1][1].append(operator)
        stack.append(node)
    for stack in stacks.values():
        result += reversed(stack)
    return result


def _write_table(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
