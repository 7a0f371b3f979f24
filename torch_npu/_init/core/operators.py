"""Ascend's own operators as functions of the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

# Where Ascend's operators are, in the order in which a name is looked up.
_NAMESPACES = ("npu", "atb")


def find(name: str) -> Any | None:
    """The operator of that name, or `None`."""
    for namespace in _NAMESPACES:
        operators = getattr(torch.ops, namespace)
        if hasattr(operators, name):
            packet = getattr(operators, name)
            return _OperatorWithOut(packet) if "out" in packet.overloads() else packet
    return None


class _OperatorWithOut:
    """An operator whose form `.out` also takes its outputs as one argument, `out`.

    Everything else is the operator's own (`torch.ops.npu.<name>`).
    """

    def __init__(self, packet: Any) -> None:
        self._packet = packet
        # Read once: Dynamo cannot iterate over a schema.
        self._outputs = tuple(
            argument.name for argument in packet.out._schema.arguments if argument.is_out
        )

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._packet(*arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._packet, name)

    def out(
        self,
        *arguments: Any,
        out: torch.Tensor | Sequence[torch.Tensor] | None = None,
        **keywords: Any,
    ) -> Any:
        """Writes the outputs that the caller gives, by their names or together as `out`.

        Raises:
            TypeError: `out` has another number of tensors than the operator has outputs.
        """
        if out is not None:
            names = self._outputs
            given = [out] if isinstance(out, torch.Tensor) else out
            tensors = list(given) if isinstance(given, (list, tuple)) else []
            if len(tensors) != len(names):
                got = str(len(tensors)) if tensors else type(out).__name__
                raise TypeError(
                    f"npu::{self._packet.__name__}.out: expected {len(names)} tensors as out "
                    f"({', '.join(names)}), but got {got}"
                )
            keywords |= dict(zip(names, tensors, strict=True))
        return self._packet.out(*arguments, **keywords)
