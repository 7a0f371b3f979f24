"""Inductor's view of `npu`: it has no code generator, and says so where it would have failed.

Imports nothing of inductor until inductor itself has been imported.
"""

from __future__ import annotations

from typing import Any, NoReturn


def register_refusal() -> None:
    """`torch.compile` with the backend inductor raises `NotImplementedError` (as the cause of
    PyTorch's own `InductorError`), which names the backends that work."""
    from torch._inductor.codegen import common

    class Refusal:
        """Stands for the scheduling and for each generator of wrapper code."""

        supports_caching = False

        def __init__(self, *arguments: Any) -> None:
            _refuse()

        @staticmethod
        def create(*arguments: Any) -> NoReturn:
            _refuse()

    common.register_device_op_overrides("npu", common.DeviceOpOverrides())
    common.register_backend_for_device("npu", Refusal, Refusal, Refusal, Refusal)  # type: ignore[arg-type]


def _refuse() -> NoReturn:
    raise NotImplementedError(
        "torch.compile's backend 'inductor' generates no code for npu in this version of torch_npu."
        " Use torch.compile(..., backend='aot_eager'), or run eagerly."
    )
