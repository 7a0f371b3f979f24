"""Functions of torch that a tool has replaced are not entered from within an operator: neither to
check a call nor to find its results' shapes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

SHAPES = iter(range(3, 10_000))  # a call's first time is what counts: each has a shape of its own

CALLS: dict[str, Callable[[torch.Tensor], Any]] = {
    "isinf": torch.isinf,
    "logsumexp": lambda x: torch.logsumexp(x, 0),
    "logit": lambda x: torch.logit(x, 0.1),
    "huber_loss": lambda x: torch.nn.functional.huber_loss(x, x + 1),
    "mv": lambda x: torch.mv(x, x[0]),
    "stack": lambda x: torch.stack([x, x]),
    "repeat": lambda x: x.repeat(2, 2),
    "fft": lambda x: torch.fft.fft(x),
    "bucketize": lambda x: torch.bucketize(x, x[0].sort().values),
    "normal": lambda x: torch.normal(x, 0.0),
}


def raises(*_: Any, **__: Any) -> Any:
    raise ValueError("the tool's own error")


def replace(monkeypatch: pytest.MonkeyPatch, replacement: Callable[..., Any]) -> None:
    for name in ("abs", "where", "empty_like", "amax", "sum", "zeros_like", "logical_or", "clone"):
        monkeypatch.setattr(torch, name, replacement)
    for name in ("new_empty", "to", "sum", "expand"):
        monkeypatch.setattr(torch.Tensor, name, replacement)


@pytest.mark.parametrize("name", CALLS)
def test_a_broken_replacement_breaks_no_operator(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = next(SHAPES)
    host = torch.rand(size, size)
    x = host.to("npu")
    expected = CALLS[name](host)
    with monkeypatch.context() as context:
        replace(context, raises)
        got = CALLS[name](x)
        torch.npu.synchronize()
    torch.testing.assert_close(got.cpu(), expected)


def test_a_first_call_enters_no_dispatch_mode_twice() -> None:
    seen = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
        ) -> Any:
            seen.append((func.name(), args[0].device.type))
            return func(*args, **(kwargs or {}))

    x = torch.ones(next(SHAPES), device="npu")
    with Watch():
        torch.isinf(x)
        torch.isinf(x)
    assert seen == [("aten::isinf", "npu")] * 2


def test_wrong_calls_raise_at_the_call_without_python() -> None:
    x = torch.ones(4, 3, device="npu")
    with pytest.raises(RuntimeError, match="size mismatch"):
        torch.mv(x, torch.ones(2, device="npu"))
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        torch.stack([x, x[:1]])
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.logsumexp(x, 5)
    large = torch.ones(300, 300, device="npu")  # more than is tried on zeros in phase one
    with pytest.raises(RuntimeError, match="size mismatch"):
        torch.mv(large, torch.ones(2, device="npu"))
    torch.npu.synchronize()


def test_forms_are_found_by_many_threads_at_once() -> None:
    x = torch.rand(9, 11, device="npu")
    expected = torch.logsumexp(x.cpu(), 1)
    results: list[torch.Tensor] = []

    def run() -> None:
        results.extend(torch.logsumexp(x[:, :n], 1) for n in range(1, 12))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.testing.assert_close(results[-1].cpu(), expected)
    assert len(results) == 44
