"""PyTorch's side of a row: ATen's functions as torchgen reads them from the installed torch."""

from __future__ import annotations

import dataclasses
import functools
import pathlib

import torchgen
from torchgen import local
from torchgen.api.types import NativeSignature
from torchgen.gen import get_grouped_native_functions, parse_native_yaml
from torchgen.model import DispatchKey, NativeFunction, NativeFunctionsGroup, SchemaKind, Variant

INCLUDE = pathlib.Path(torchgen.__file__).parents[1] / "torch" / "include"


@dataclasses.dataclass(frozen=True)
class Argument:
    name: str
    type: str  # the schema's type, e.g. "Tensor?", "int[]", "Scalar"


@dataclasses.dataclass(frozen=True)
class Function:
    """One ATen function: an operator's functional, in-place or out form."""

    native: NativeFunction
    group: NativeFunctionsGroup | None
    has_meta_kernel: bool = False  # in C++, beside those of structured operators

    @property
    def name(self) -> str:
        return str(self.native.func.name)

    @property
    def variant(self) -> str:
        kind = self.native.func.kind()
        return {SchemaKind.inplace: "inplace", SchemaKind.out: "out"}.get(kind, "functional")

    @property
    def structured(self) -> bool:
        return self.group is not None and self.group.structured

    @property
    def identifier(self) -> str:
        return self.native.func.name.unambiguous_name()

    @property
    def arguments(self) -> list[Argument]:
        """The inputs in schema order, without out arguments."""
        return [
            Argument(a.name, type_name(str(a.type)))
            for a in self.native.func.arguments.flat_non_out
        ]

    @property
    def updated_arguments(self) -> list[str]:
        """The inputs that it writes to as well."""
        return [
            a.name
            for a in self.native.func.arguments.flat_non_out
            if a.annotation is not None and a.annotation.is_write
        ]

    @property
    def out_arguments(self) -> list[str]:
        return [a.name for a in self.native.func.arguments.out]

    @property
    def returns(self) -> list[str]:
        return [str(r.type) for r in self.native.func.returns]

    @property
    def definition(self) -> str:
        with local.parametrize(
            use_const_ref_for_mutable_tensors=self.native.use_const_ref_for_mutable_tensors,
            use_ilistref_for_tensor_lists=self.native.part_of_structured_group,
        ):
            return NativeSignature(self.native.func, symint=False).defn(name=self.identifier)

    @property
    def meta_class(self) -> str:
        assert self.group is not None
        return f"at::meta::structured_{self.group.functional.func.name.unambiguous_name()}"

    @property
    def meta_header(self) -> str:
        return f"ATen/ops/{self.native.root_name}_meta.h"

    @property
    def composite(self) -> bool:
        """Whether ATen's own kernel for every backend composes it of other operators."""
        return bool(self.native.has_composite_kernel)

    @property
    def out_form(self) -> Function | None:
        """The function that writes what this one returns, if there is one."""
        return None if self.group is None else functions().get(str(self.group.out.func.name))

    @property
    def functional_form(self) -> Function | None:
        """The function that returns new tensors where this one writes to given ones."""
        if self.group is None:
            return self if self.variant == "functional" and self.returns else None
        return functions().get(str(self.group.functional.func.name))

    def call(self, arguments: list[str]) -> str:
        """A C++ call, by function or method as the operator has it."""
        name = str(self.native.func.name.name)
        if Variant.function in self.native.variants:
            return f"at::{name}({', '.join(arguments)})"
        return f"{arguments[0]}.{name}({', '.join(arguments[1:])})"

    @property
    def out_kernel(self) -> str | None:
        """The C++ name of the out form of this operator, if it has one."""
        if self.variant == "out":
            return f"at::{self.native.func.name.name}_out"
        return None if self.group is None else f"at::{self.group.out.func.name.name}_out"


def type_name(schema_type: str) -> str:
    """Symbolic and fixed-size integers are integers to a kernel: SymInt[2] -> int[]."""
    name = schema_type.replace("SymInt", "int")
    if "[" in name and not name.endswith("[]"):
        head, _, tail = name.partition("[")
        name = head + "[]" + tail.partition("]")[2]
    return name


@functools.cache
def functions() -> dict[str, Function]:
    """Every ATen function of the installed torch by its full name."""
    folder = pathlib.Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    meta = parsed.backend_indices[DispatchKey.Meta]
    result: dict[str, Function] = {}
    for item in get_grouped_native_functions(parsed.native_functions):
        group = item if isinstance(item, NativeFunctionsGroup) else None
        for native in [item] if isinstance(item, NativeFunction) else item.functions():
            result[str(native.func.name)] = Function(native, group, meta.has_kernel(native))
    return result


def variants(
    function: Function, wanted: tuple[str, ...] | None, listed: frozenset[str] = frozenset()
) -> list[Function]:
    """The forms that a table entry of this name registers: the wanted ones, or else as follows.

    A structured operator stands for all of its forms. Any other functional one for itself and for
    the forms that ATen would not compose of it, but for those that are ``listed`` themselves; an
    in-place or out form stands for itself alone.
    """
    if function.group is None or not (function.structured or function.variant == "functional"):
        return [function]
    forms = [functions()[str(native.func.name)] for native in function.group.functions()]
    forms = [form for form in forms if _is_form(form)]
    if wanted is not None:
        return [form for form in forms if form.variant in wanted]
    if function.structured:
        return forms
    others = [form for form in forms if not form.composite and form.name not in listed]
    return [function, *(form for form in others if form.name != function.name)]


def _is_form(form: Function) -> bool:
    # The group also carries the mutable form, which torch generates from the functional one.
    return form.native.func.kind() is not SchemaKind.mutable


@functools.cache
def operator_header(cpp_name: str) -> str | None:
    """The per-operator header that declares ``at::<cpp_name>``, if torch has one."""
    candidates = [cpp_name, cpp_name.removesuffix("_outf"), cpp_name.removesuffix("_out")]
    candidates += [c.rstrip("_") for c in candidates] + [c.strip("_") for c in candidates]
    for candidate in candidates:
        if (INCLUDE / "ATen" / "ops" / f"{candidate}.h").exists():
            return f"ATen/ops/{candidate}.h"
    return None
