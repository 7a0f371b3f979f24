"""What a row of the operator table may say.

A row is one aclnn function::

    - aclnn: Add(Tensor self, Tensor other, Scalar alpha, Tensor! out)
      aten: [add.Tensor]
      kernel: at::add_out(out, self, other, alpha)

``aclnn`` (``acl`` for the few functions that CANN names so, and ``softcann`` for one that CANN does
not have) gives the parameters of the first phase in CANN's order. ``!`` marks what is written,
``?`` what may be null, ``~`` an output whose shape depends on the data. ``kernel`` is C++ over the
parameters as ATen objects; left out, it is the ATen out variant of the first ``aten`` entry.
``check: trial`` says that the kernel's meta form refuses what the kernel does not, so phase one
runs it on zeros only; ``check: pointers``, that phase one checks no shapes at all;
``check: untried``, that the kernel goes where numbers in its arguments point (pivots), so phase one
does not try it on zeros. ``half`` says that the kernel is slower in float16 and bfloat16 than on
float32 copies on CPUs without units for these types, and gets such copies there: ``alone``, if all
floating-point tensors of the call have one half type; ``float16``, if that is float16; ``mixed``,
also beside float32; ``own``, that the kernel converts itself. ``include``
names headers that the kernel needs beyond those of the
ATen functions that it calls. ``limits`` is what CANN's document allows a call to have, checked in
strict mode (`operators.limits`).

A ``softcann`` row may also be an ATen function's bare name, ``softcann: special_entr``: parameters,
kernel and ``aten`` entry then follow from ATen's signature, and the keys of an ``aten`` entry may
stand in the row itself. ``foreach`` is short for a row on lists of tensors. derive.py writes both
out.

An ``aten`` entry is an ATen function's name, or a mapping with ``op`` (that name) and

``args``
    an expression over the ATen arguments (and outputs) for parameters that no ATen argument in
    the same place fills. A written parameter named here is an argument that the operator updates,
    not a result;
``outputs``
    for operators that are not structured: how each output is made, by a function of
    ``torch_npu::shapes`` or any expression that gives a tensor. Left out, the CPU's kernel
    is asked with zeros, once for all calls with arguments of the same form;
``host_scalar``
    the aclnn function to call instead when the named argument is a Python number
    (``{other: Adds}``);
``nz``
    the aclnn function with the same parameters to call instead when the named argument is stored
    in FRACTAL_NZ (``{mat2: MatmulWeightNz}``);
``random``
    how many random numbers the kernel draws: the generator's seed and offset are then passed as
    the parameters ``seed`` and ``offset``;
``results``
    the function that a result goes through before it is returned, such as a transposition;
``before``
    C++ statements before the call, such as the check or the resizing of an ``out``;
``before_out``
    C++ statements that an out form begins with, before its outputs are resized: the checks of
    ``out`` that PyTorch makes in the kernel;
``variants``
    which of functional, inplace and out to register (default: all that ATen does not compose of
    other operators and that no entry names itself).

An ``npu`` entry is an operator that PyTorch does not have, given by its whole schema
(``npu_swiglu(Tensor self, int dim=-1) -> Tensor``; ``atb::...`` for another namespace than
``npu``). It takes ``args``, ``outputs``, ``nz``, ``random`` and ``before`` as above, and

``backward``
    its derivative, as ``operators/derivatives.py`` describes;
``refuse``
    optional arguments that are not supported: a value is an error with the operator's and the
    argument's name;
``ignore``
    arguments that have no effect here;
``returns``
    expressions for the results, if they are not the outputs in the function's order;
``meta``
    ``false`` if the sizes of its outputs are known only on the device; FakeTensor then refuses it.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import Any

import yaml

from operators import derive
from operators.limits import LimitError, Limits
from operators.limits import parse as parse_limits


class TableError(Exception):
    """A row that the table's reader cannot accept; the text names file, row and reason."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A parameter kind: its C type and the class of softcann::aclnn that captures it."""

    c_type: str
    capture: str


KINDS: dict[str, Kind] = {
    "Tensor": Kind("const aclTensor*", "Tensor"),
    "Tensor?": Kind("const aclTensor*", "OptionalTensor"),
    "Tensor!": Kind("aclTensor*", "WrittenTensor"),
    "Tensor!?": Kind("aclTensor*", "OptionalWrittenTensor"),
    "Tensor!~": Kind("aclTensor*", "ResizedTensor"),
    "Tensor[]": Kind("const aclTensorList*", "TensorList"),
    "Tensor[]?": Kind("const aclTensorList*", "OptionalTensorList"),
    "Tensor?[]": Kind("const aclTensorList*", "TensorListWithHoles"),
    "Tensor[]!": Kind("aclTensorList*", "WrittenTensorList"),
    "Tensor[]!?": Kind("aclTensorList*", "OptionalWrittenTensorList"),
    "Scalar": Kind("const aclScalar*", "Scalar"),
    "Scalar?": Kind("const aclScalar*", "OptionalScalar"),
    "Scalar[]": Kind("const aclScalarList*", "ScalarList"),
    "int[]": Kind("const aclIntArray*", "IntArray"),
    "int[]?": Kind("const aclIntArray*", "OptionalIntArray"),
    "float[]": Kind("const aclFloatArray*", "FloatArray"),
    "bool[]": Kind("const aclBoolArray*", "BoolArray"),
    "bool[]?": Kind("const aclBoolArray*", "OptionalBoolArray"),
    # numbers that may be missing: a null scalar
    "int?": Kind("const aclScalar*", "OptionalNumber<int64_t>"),
    "double?": Kind("const aclScalar*", "OptionalNumber<double>"),
    "bool?": Kind("const aclScalar*", "OptionalNumber<bool>"),
    "dtype": Kind("aclDataType", "DataType"),
    "dtype?": Kind("aclDataType", "OptionalDataType"),  # ACL_DT_UNDEFINED for none
    "str": Kind("const char*", "String"),
    "str?": Kind("const char*", "OptionalString"),
    "str!": Kind("char*", "String"),
    "int": Kind("int64_t", "Value<int64_t>"),
    "int32": Kind("int32_t", "Value<int32_t>"),
    "int8": Kind("int8_t", "Value<int8_t>"),
    "uint64": Kind("uint64_t", "Value<uint64_t>"),
    "bool": Kind("bool", "Value<bool>"),
    "double": Kind("double", "Value<double>"),
    "float": Kind("float", "Value<float>"),
}


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    type: str
    const: bool = False  # a written parameter that CANN's header declares const all the same

    @property
    def kind(self) -> Kind:
        return KINDS[self.type]

    @property
    def c_type(self) -> str:
        c_type = self.kind.c_type
        return f"const {c_type}" if self.const else c_type

    @property
    def required(self) -> bool:
        """A pointer that must not be null. A string may be."""
        optional = "?" in self.type and self.type != "Tensor?[]"
        return "*" in self.c_type and not optional and not self.type.startswith("str")

    @property
    def written(self) -> bool:
        return "!" in self.type and self.type != "str!"


@dataclasses.dataclass(frozen=True)
class AtenEntry:
    op: str
    args: dict[str, str]
    outputs: dict[str, str]
    results: dict[str, str]
    host_scalar: dict[str, str]
    variants: tuple[str, ...] | None
    random: str | None
    before: str
    before_out: str = ""
    custom: bool = False
    backward: tuple[tuple[str, str], ...] = ()
    returns: tuple[str, ...] | None = None
    refuse: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    meta: bool = True
    nz: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    prefix: str
    parameters: tuple[Parameter, ...]
    kernel: str | None
    check: str
    half: str
    include: tuple[str, ...]
    aten: tuple[AtenEntry, ...]
    family: str
    limits: Limits | None = None

    @property
    def function(self) -> str:
        """The C function's name, e.g. ``aclnnAdd``."""
        return self.prefix + self.name

    @property
    def inputs(self) -> list[Parameter]:
        return [p for p in self.parameters if not p.written]

    @property
    def outputs(self) -> list[Parameter]:
        return [p for p in self.parameters if p.written]


_SIGNATURE = re.compile(r"^(\w+)\((.*)\)$", re.DOTALL)
_PARAMETER = re.compile(r"^(const )?(\S+) (\w+)$")
PREFIXES = ("aclnn", "acl", "softcann")
_ROW_KEYS = {*PREFIXES, "aten", "npu", "kernel", "check", "half", "include", "limits"}
_ENTRY_KEYS = {"op", "args", "outputs", "results", "host_scalar", "variants", "random"}
_ENTRY_KEYS |= {"before", "before_out", "nz"}
_CUSTOM_KEYS = {"op", "args", "outputs", "random", "before", "backward", "returns", "meta"}
_CUSTOM_KEYS |= {"refuse", "ignore", "nz"}
CHECKS = ("kernel", "trial", "pointers", "untried")
HALVES = ("native", "alone", "float16", "mixed", "own")
_VARIANTS = ("functional", "inplace", "out")


def parse_signature(text: str, where: str) -> tuple[str, tuple[Parameter, ...]]:
    match = _SIGNATURE.match(" ".join(text.split()))
    if match is None:
        raise TableError(f"{where}: expected Name(type name, ...), got {text!r}")
    parameters = []
    for part in filter(None, (p.strip() for p in match[2].split(","))):
        parameter = _PARAMETER.match(part)
        if parameter is None or parameter[2] not in KINDS:
            raise TableError(
                f"{where}: {part!r} is not 'type name' with a type of {', '.join(KINDS)}"
            )
        parameters.append(Parameter(parameter[3], parameter[2], bool(parameter[1])))
    return match[1], tuple(parameters)


def _check_keys(mapping: dict[str, Any], allowed: set[str], where: str) -> None:
    unknown = set(mapping) - allowed
    if unknown:
        raise TableError(f"{where}: unknown key {sorted(unknown)}; known are {sorted(allowed)}")


def _parse_entry(
    entry: Any, parameters: tuple[Parameter, ...], where: str, custom: bool = False
) -> AtenEntry:
    if isinstance(entry, str):
        entry = {"op": entry}
    if not isinstance(entry, dict) or "op" not in entry:
        kind = "npu" if custom else "aten"
        raise TableError(
            f"{where}: an {kind} entry is a name or a mapping with 'op', got {entry!r}"
        )
    _check_keys(entry, _CUSTOM_KEYS if custom else _ENTRY_KEYS, f"{where}, {entry['op']}")
    names = {p.name for p in parameters}
    for key in ("args", "outputs", "results"):
        for name in entry.get(key, {}):
            if name not in names:
                raise TableError(
                    f"{where}, {entry['op']}: {key} names {name!r}, which is no parameter"
                )
    variants = tuple(entry["variants"]) if "variants" in entry else None
    if variants is not None and not set(variants) <= set(_VARIANTS):
        raise TableError(f"{where}, {entry['op']}: variants are {_VARIANTS}, got {variants}")
    random = entry.get("random")
    return AtenEntry(
        op=entry["op"],
        args={k: str(v) for k, v in entry.get("args", {}).items()},
        outputs={k: str(v) for k, v in entry.get("outputs", {}).items()},
        results=dict(entry.get("results", {})),
        host_scalar=dict(entry.get("host_scalar", {})),
        variants=variants,
        random=None if random is None else str(random),
        before=str(entry.get("before", "")).strip().rstrip(";"),
        before_out=str(entry.get("before_out", "")).strip().rstrip(";"),
        custom=custom,
        backward=tuple((str(k), str(v)) for k, v in entry.get("backward", {}).items()),
        returns=tuple(map(str, entry["returns"])) if "returns" in entry else None,
        refuse=tuple(entry.get("refuse", ())),
        ignore=tuple(entry.get("ignore", ())),
        meta=bool(entry.get("meta", True)),
        nz=dict(entry.get("nz", {})),
    )


def _parse_limits(
    raw: dict[str, Any], parameters: tuple[Parameter, ...], where: str
) -> Limits | None:
    if "limits" not in raw:
        return None
    try:
        return parse_limits(raw["limits"], {p.name: p.type for p in parameters})
    except LimitError as error:
        raise TableError(f"{where}: limits: {error}") from error


def _entries(raw: dict[str, Any], key: str) -> list[Any]:
    entries = raw.get(key, [])
    return [entries] if isinstance(entries, (str, dict)) else list(entries)


def parse_row(raw: dict[str, Any], family: str) -> Row:
    named = next((raw[prefix] for prefix in PREFIXES if prefix in raw), raw)
    where = f"table/{family}.yaml: {named}"
    try:
        raw = derive.expand(raw)
    except derive.DerivationError as error:
        raise TableError(f"{where}: {error}") from error
    _check_keys(raw, _ROW_KEYS, where)
    prefixes = [prefix for prefix in PREFIXES if prefix in raw]
    if len(prefixes) != 1:
        raise TableError(f"{where}: a row has one of {PREFIXES}, got {prefixes}")
    prefix = prefixes[0]
    name, parameters = parse_signature(raw[prefix], where)
    check = raw.get("check", "kernel")
    if check not in CHECKS:
        raise TableError(f"{where}: check is one of {CHECKS}, got {check!r}")
    half = raw.get("half", "native")
    if half not in HALVES:
        raise TableError(f"{where}: half is one of {HALVES}, got {half!r}")
    if half not in ("native", "own") and any(p.type.startswith("dtype") for p in parameters):
        raise TableError(f"{where}: a kernel that is told a dtype cannot be given float32 for half")
    entries = [(entry, False) for entry in _entries(raw, "aten")]
    entries += [(entry, True) for entry in _entries(raw, "npu")]
    include = raw.get("include", [])
    return Row(
        name=name,
        prefix=prefix,
        parameters=parameters,
        kernel=raw.get("kernel"),
        check=check,
        half=half,
        include=(include,) if isinstance(include, str) else tuple(include),
        aten=tuple(_parse_entry(entry, parameters, where, custom) for entry, custom in entries),
        family=family,
        limits=_parse_limits(raw, parameters, where),
    )


def load(folder: pathlib.Path) -> list[Row]:
    """Reads every family of the table, in file order, and refuses a function given twice."""
    rows: list[Row] = []
    seen: dict[str, str] = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            raw_rows = yaml.load(path.read_text(), Loader=yaml.CSafeLoader) or []
        except yaml.YAMLError as error:
            raise TableError(f"table/{path.stem}.yaml: not YAML: {error}") from error
        for raw in raw_rows:
            row = parse_row(raw, path.stem)
            if row.function in seen:
                raise TableError(
                    f"table/{path.stem}.yaml: {row.function} stands in {seen[row.function]}.yaml"
                )
            seen[row.function] = path.stem
            rows.append(row)
    return rows
