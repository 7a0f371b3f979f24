"""A process that calls functions for a test, and the functions that it can call.

Functions and their arguments travel through `torch.multiprocessing` queues.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable
from typing import Any, Self

import torch
import torch.multiprocessing

import torch_npu
from torch_npu.multiprocessing import reductions

kept: dict[str, Any] = {}


class Partner:
    """Answers calls until it is ended. `call` raises what the function raised there."""

    def __init__(self) -> None:
        context = torch.multiprocessing.get_context("spawn")
        self._calls = context.Queue()
        self._answers = context.Queue()
        self.process = context.Process(target=serve, args=(self._calls, self._answers), daemon=True)
        self.process.start()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self._calls.put((function, arguments))
        failure, result = self._answers.get(timeout=570)
        if failure is not None:
            raise failure
        return result

    def kill(self) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()

    def end(self) -> None:
        if self.process.is_alive():
            self._calls.put(None)
            self.process.join(100)
        if self.process.is_alive():
            self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.end()


def serve(calls: Any, answers: Any) -> None:
    while (call := calls.get()) is not None:
        function, arguments = call
        del call
        try:
            answer = (None, function(*arguments))
        except Exception as error:
            answer = (error, None)
        del arguments
        answers.put(answer)
        del answer


def checksum(tensor: torch.Tensor) -> str:
    """Of shape, dtype and bytes."""
    parts = f"{tuple(tensor.shape)} {tensor.dtype} {tensor.requires_grad} ".encode()
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return hashlib.sha256(parts + flat.view(torch.uint8).numpy().tobytes()).hexdigest()


def random_tensors(seed: int, count: int) -> list[torch.Tensor]:
    """Tensors and views of random shape, some of which share a storage."""
    generator = torch.Generator().manual_seed(seed)

    def number(least: int, most: int) -> int:
        return int(torch.randint(least, most + 1, (), generator=generator))

    tensors: list[torch.Tensor] = []
    while len(tensors) < count:
        shape = [number(1, 9) for _ in range(number(0, 4))]
        base = torch.randint(-100, 100, shape, generator=generator)
        base = base.to("npu").to(
            (torch.float32, torch.int64, torch.bool, torch.bfloat16)[number(0, 3)]
        )
        views = [base, base[..., None], base.flatten()[number(0, 3) :], base.expand(2, *shape)]
        if base.dim() >= 2:
            views += [base.transpose(0, 1), base[::2, 1:]]
        tensors += [views[number(0, len(views) - 1)] for _ in range(number(1, 3))]
    return tensors[:count]


def answer_checksums(tensors: list[torch.Tensor], seed: int) -> Any:
    """The checksums of what came, and as many tensors of this process with theirs."""
    mine = random_tensors(seed, len(tensors))
    return [checksum(tensor) for tensor in tensors], mine, [checksum(tensor) for tensor in mine]


def keep(name: str, value: Any) -> None:
    kept[name] = value


def drop(name: str) -> None:
    kept.pop(name, None)


def recall(name: str) -> Any:
    return kept[name]


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(shape, device="npu")


def fill(tensor: torch.Tensor, value: float) -> None:
    tensor.fill_(value)
    torch.npu.synchronize()


def describe(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), str(tensor.device)


def fill_and_describe_pair(first: torch.Tensor, second: torch.Tensor) -> tuple[bool, float]:
    """Whether the two share memory here, and what a write through one shows in the other."""
    first.fill_(3)
    same = first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
    return same, second.sum().item()


def reduce(name: str, *shape: int) -> tuple[Any, ...]:
    """What describes a new tensor of ones, without sending it."""
    kept[name] = ones(*shape)
    return reductions.reduce_tensor(kept[name])


def kept_references() -> int:
    return torch_npu._C._npu_keptReferences()


def await_no_references() -> int:
    """How many references this process keeps once others have had time to release them."""
    deadline = time.monotonic() + 100
    while kept_references() and time.monotonic() < deadline:
        time.sleep(0.01)
    return kept_references()


class Late:
    """Pickled as the tensor, by a queue's thread, when the process has begun to end."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __reduce__(self) -> Any:
        time.sleep(0.5)
        return reductions.reduce_tensor(self.tensor)


def send_and_end(queue: Any) -> None:
    reductions.EXIT_PATIENCE_SECONDS = 600.0
    queue.put(Late(torch.arange(10, device="npu")))


def wait_for_event(event: torch.npu.Event, tensor: torch.Tensor) -> float:
    """The sum of the tensor once work queued behind the event has copied it."""
    event.wait()
    return tensor.clone().sum().item()


def make_event() -> torch.npu.Event:
    kept["event"] = torch.npu.Event(interprocess=True)
    return kept["event"]


def event_handle() -> bytes:
    """Of an event that no other process has opened."""
    kept["unopened"] = torch.npu.Event(interprocess=True)
    return kept["unopened"].ipc_handle()


def record_event_behind_gate() -> None:
    """Records the event behind work that waits until `open_gate` is called."""
    kept["gate"] = torch.npu.ExternalEvent()
    kept["gate"].wait()
    kept["event"].record()


def open_gate() -> None:
    kept.pop("gate").record(torch.npu.Stream())
