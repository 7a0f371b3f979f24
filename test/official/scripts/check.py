"""What the scripts of this folder share. They run with the official torch_npu, one process each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

DEVICE = "npu"


def equal(actual: Any, expected: Any, what: str = "") -> None:
    """Tensors on any device, or trees of them: equal to float32's rounding."""
    if isinstance(actual, torch.Tensor):
        actual = actual.detach().cpu()
    if isinstance(expected, torch.Tensor):
        expected = expected.detach().cpu()
    torch.testing.assert_close(
        actual, expected, rtol=1e-4, atol=1e-5, msg=lambda text: f"{what}: {text}"
    )


def raises(text: str, call: Callable[[], Any]) -> None:
    """The call fails with a RuntimeError that says this."""
    said = None
    try:
        call()
    except RuntimeError as error:
        said = str(error)
    assert said is not None, f"no error, expected one that says {text!r}"
    assert text in said, f"the error does not say {text!r}: {said}"


def seeded(build: Callable[[], torch.nn.Module]) -> tuple[torch.nn.Module, torch.nn.Module]:
    """The same module on the CPU and on the device."""
    torch.manual_seed(0)
    host = build()
    torch.manual_seed(0)
    return host, build().to(DEVICE)
