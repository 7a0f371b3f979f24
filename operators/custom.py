"""Operators of the namespaces that Ascend's backend adds: functions known by their schema alone.

They offer the generator the same view as ATen's (``aten.Function``), without a structured group
and without a kernel to call.
"""

from __future__ import annotations

import dataclasses
import re

from torchgen import local
from torchgen.api.types import NativeSignature
from torchgen.model import FunctionSchema, SchemaKind

from operators.aten import Argument, type_name

_QUALIFIED = re.compile(r"^(?:(\w+)::)?(.*)$", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class CustomFunction:
    """One operator of ``torch.ops.<namespace>``."""

    namespace: str
    schema_text: str
    schema: FunctionSchema

    structured = False
    out_kernel = None

    @property
    def name(self) -> str:
        return str(self.schema.name)

    @property
    def variant(self) -> str:
        kind = self.schema.kind()
        return {SchemaKind.inplace: "inplace", SchemaKind.out: "out"}.get(kind, "functional")

    @property
    def identifier(self) -> str:
        return f"{self.namespace}_{self.schema.name.unambiguous_name()}"

    @property
    def arguments(self) -> list[Argument]:
        return [
            Argument(a.name, type_name(str(a.type))) for a in self.schema.arguments.flat_non_out
        ]

    @property
    def out_arguments(self) -> list[str]:
        return [a.name for a in self.schema.arguments.out]

    @property
    def returns(self) -> list[str]:
        return [str(r.type) for r in self.schema.returns]

    @property
    def definition(self) -> str:
        with local.parametrize(
            use_const_ref_for_mutable_tensors=False, use_ilistref_for_tensor_lists=False
        ):
            return NativeSignature(self.schema, symint=False).defn(name=self.identifier)

    @property
    def first_tensor(self) -> str | None:
        """The argument whose device decides where the operator runs."""
        for argument in (*self.schema.arguments.flat_all,):
            if str(argument.type) in ("Tensor", "Tensor[]"):
                return argument.name
        return None


def parse(text: str) -> CustomFunction:
    """Reads ``[namespace::]schema``; the namespace is ``npu`` if none is given."""
    text = " ".join(text.split())
    match = _QUALIFIED.match(text)
    assert match is not None
    return CustomFunction(match[1] or "npu", match[2], FunctionSchema.parse(match[2]))
