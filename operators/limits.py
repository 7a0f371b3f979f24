"""What a row says of the limits that the card sets, and the C++ that checks them in strict mode.

``limits`` of a row is a mapping::

    limits:
      source: ops-math/math/add/docs/aclnnAdd&aclnnInplaceAdd.md
      self other out: any; 0..8
      rules: promotable(self, other); converts(out, self, other); 561103 size(self, 0, 1..63)

``source`` is the repository below github.com/hicann and the path of the operator's document there;
every limit is a statement of that document about the Atlas A2 (Ascend 910B). The other keys are
names of parameters. Their limit is, for a tensor (or each of a list), its dtypes, of `DTYPES` and
`GROUPS`, after a semicolon its ranks and after another its `FORMATS`; for a scalar or a dtype,
dtypes; for a string, the words it may be; for numbers, a range such as ``1..255``, ``0..`` or
``0<..``. A least rank stands there if the document says that less is an error.

``rules`` are methods of ``softcann::aclnn::Limits`` over parameters, numbers and ranges, separated
by semicolons. A call that breaks one gets the code in front of it, 161002 where there is none. A
rule for some calls only stands behind its condition: ``when mode is 2 3: given(mask)``. A condition
names dtypes, formats, numbers or words, of which the parameter has one, ``given`` or ``absent``;
``is not`` is the opposite, and several are joined by ``and``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

# The documents' repositories at the commits that the limits were read at.
REPOSITORIES = {
    "ops-cv": "https://github.com/hicann/ops-cv/blob/6ae87653464d2afb064c829e529abba2e278b0c4",
    "ops-math": "https://github.com/hicann/ops-math/blob/c41933244c31e44fd496e3bb3212164f8c48c214",
    "ops-nn": "https://github.com/hicann/ops-nn/blob/e5c3fa9327ea95ba26d06227e746923580d10921",
    "ops-transformer": (
        "https://github.com/hicann/ops-transformer/blob/c29bc1069d3252c641e2aa059ec88f392d3f05ac"
    ),
}

DTYPES = {
    "float16": "at::kHalf",
    "bfloat16": "at::kBFloat16",
    "float32": "at::kFloat",
    "float64": "at::kDouble",
    "int8": "at::kChar",
    "int16": "at::kShort",
    "int32": "at::kInt",
    "int64": "at::kLong",
    "uint8": "at::kByte",
    "uint16": "at::kUInt16",
    "uint32": "at::kUInt32",
    "uint64": "at::kUInt64",
    "bool": "at::kBool",
    "complex32": "at::kComplexHalf",
    "complex64": "at::kComplexFloat",
    "complex128": "at::kComplexDouble",
}

# How a tensor is stored: NZ is FRACTAL_NZ.
FORMATS = {
    "ND": "ACL_FORMAT_ND",
    "NCHW": "ACL_FORMAT_NCHW",
    "NHWC": "ACL_FORMAT_NHWC",
    "NCDHW": "ACL_FORMAT_NCDHW",
    "NCL": "ACL_FORMAT_NCL",
    "NZ": "ACL_FORMAT_FRACTAL_NZ",
}

GROUPS = {
    "half": "float16 bfloat16",
    "float": "float16 bfloat16 float32",
    "floating": "float16 bfloat16 float32 float64",
    "integral": "uint8 int8 int16 int32 int64",
    "unsigned": "uint16 uint32 uint64",
    "complex": "complex64 complex128",
    "numeric": "float16 bfloat16 float32 float64 uint8 int8 int16 int32 int64",
    "any": (
        "float16 bfloat16 float32 float64 uint8 int8 int16 int32 int64 bool complex64 complex128"
    ),
}

# The arguments of each rule: an operand (with ? one that the function may not have), all remaining
# operands, a number (with ? it may be missing and is infinity then), all remaining numbers, ranks
# or dtypes, or a range.
RULES: dict[str, tuple[str, ...]] = {
    "sameDtype": ("operands",),
    "likeOrFloat32": ("operand", "operand"),
    "promotable": ("operands",),
    "converts": ("operands",),
    "notAllBool": ("operands",),
    "sameShape": ("operands",),
    "sameRank": ("operands",),
    "sameLength": ("operands",),
    "broadcasts": ("operands",),
    "axes": ("operand", "operand"),
    "sameSize": ("operand", "number", "operand", "number"),
    "size": ("operand", "number", "range"),
    "sizeIsNot": ("operand", "number", "number"),
    "sizeIs": ("operand", "number", "operand"),
    "sizeMultiple": ("operand", "number", "number"),
    "dtypes": ("operand", "dtypes"),
    "given": ("operands",),
    "absent": ("operands",),
    "notEmpty": ("operands",),
    "among": ("operand", "numbers"),
    "length": ("operand", "range"),
    "range": ("operand", "range"),
    "rank": ("operand", "ranks"),
    "elements": ("operands",),
    "divides": ("operand", "operand", "number?"),
    "bfloat16Alone": ("operands",),
    "cubeMode": ("operands",),
    "paddingPairs": ("operand", "operand"),
    "repeatedDims": ("operand",),
    "convolution": ("operand",) * 7,
    "convolutionBackward": ("operand",) * 6,
    "attention": (*("operand",) * 7, "number"),
    "packedAttention": (*("operand",) * 4, "number"),
    "inferAttention": (*("operand",) * 6, "operand?"),
    "alignedHeads": (*("operand",) * 3, "operands"),
    "unalignedBatch": ("operand",) * 3,
    "rowLength": ("operand",) * 2,
    "packedHeads": ("operand",) * 5,
    "pagedAttention": ("operand",) * 6,
}

INVALID = 161002


class LimitError(Exception):
    """A limit that cannot be read; the text says which and why."""


@dataclasses.dataclass(frozen=True)
class Check:
    """One call of a method of Limits."""

    code: int
    method: str
    arguments: tuple[str, ...]  # C++
    operands: tuple[str, ...]  # parameters that occur in it
    text: str  # as the row says it
    condition: str = ""  # C++


@dataclasses.dataclass(frozen=True)
class Limits:
    source: str
    checks: tuple[Check, ...]

    @property
    def document(self) -> str:
        """The address of the document."""
        repository, _, path = self.source.partition("/")
        return f"{REPOSITORIES[repository]}/{path.replace('&', '%26')}"

    @property
    def operands(self) -> set[str]:
        return {name for check in self.checks for name in check.operands}


_RULE = re.compile(r"^(?:(\d{6}) )?(?:when ([^:]+): )?(\w+)\((.*)\)$")
_CONDITION = re.compile(r"^(\w+) is (not )?(.+)$")
_NUMBER = re.compile(r"^-?\d+(\.\d+)?$")
_MISSING = 'Operand("", static_cast<const aclTensor*>(nullptr))'
_INFINITY = "std::numeric_limits<double>::infinity()"


def _number(text: str) -> str:
    if not _NUMBER.match(text):
        raise LimitError(f"{text!r} is not a number")
    return text


def _range(text: str) -> tuple[str, str]:
    """``1..255``, ``0..``, ``3``, or ``0<..1`` where 0 itself is excluded."""
    least, dots, most = text.partition("..")
    if least == "0<":
        return "std::numeric_limits<double>::denorm_min()", _number(most) if most else _INFINITY
    low = _number(least)
    if not dots:
        return low, low
    return low, _number(most) if most else _INFINITY


def _ranks(text: str) -> tuple[str, str]:
    """The bits of the ranks in ``0..8`` or ``0,3,4``, and the text in quotation marks."""
    bits = 0
    for part in text.split(","):
        least, _, most = part.strip().partition("..")
        try:
            numbers = range(int(least), int(most or least) + 1)
        except ValueError as error:
            raise LimitError(f"{text!r} are no ranks") from error
        bits |= sum(1 << rank for rank in numbers)
    return hex(bits) + "u", '"' + text.replace("..", " to ").replace(",", ", ") + '"'


def _dtypes(text: str) -> str:
    names: dict[str, None] = {}
    for word in text.split():
        for name in GROUPS.get(word, word).split():
            if name not in DTYPES:
                raise LimitError(f"{name!r} is no dtype or group of dtypes")
            names[name] = None
    if not names:
        raise LimitError("no dtype is named")
    return "{" + ", ".join(DTYPES[name] for name in names) + "}"


def _formats(text: str) -> str:
    for word in text.split():
        if word not in FORMATS:
            raise LimitError(f"{word!r} is no format; there are {', '.join(FORMATS)}")
    return "{" + ", ".join(FORMATS[word] for word in text.split()) + "}"


def _condition(text: str, parameters: Mapping[str, str]) -> tuple[str, str]:
    """A parameter's name and the C++ for ``x is given``, ``x is a b`` or ``x is not a b``."""
    match = _CONDITION.match(text.strip())
    if match is None or match[1] not in parameters:
        raise LimitError(f"{text!r} is not 'parameter is …'")
    name, words = match[1], match[3].split()
    base = parameters[name].rstrip("!?~[]")
    if words in (["given"], ["absent"]):
        call = f"{'!' if words == ['absent'] else ''}Limits::isGiven({name})"
    elif base == "str":
        call = f"Limits::isText({name}, {{" + ", ".join(f'"{word}"' for word in words) + "})"
    elif base in ("Tensor", "dtype") and words[0] in FORMATS:
        call = f"Limits::hasFormat({name}, {_formats(match[3])})"
    elif base in ("Tensor", "dtype"):
        call = f"Limits::hasDtype({name}, {_dtypes(match[3])})"
    else:
        values = {"true": "1", "false": "0"}
        numbers = ", ".join(_number(values.get(word, word)) for word in words)
        call = f"Limits::isNumber({name}, {{{numbers}}})"
    return name, f"!{call}" if match[2] else call


def _split_arguments(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text.strip() else []


def parse_rule(text: str, parameters: Mapping[str, str]) -> Check:
    """``parameters`` are the row's parameters and their kinds."""
    match = _RULE.match(text)
    if match is None:
        raise LimitError(f"{text!r} is not 'rule(arguments)'")
    code, method, rest = match[1], match[3], _split_arguments(match[4])
    if method not in RULES:
        raise LimitError(f"there is no rule {method!r}; there are {', '.join(RULES)}")
    parts = match[2].split(" and ") if match[2] else []
    conditions = [_condition(part, parameters) for part in parts]
    used: list[str] = [name for name, _ in conditions]

    def operand(name: str) -> str:
        if name not in parameters:
            raise LimitError(f"{text!r} names {name!r}, which is no parameter")
        used.append(name)
        return name

    arguments: list[str] = []
    for kind in RULES[method]:
        if not rest and kind == "number?":
            arguments.append(_INFINITY)
            continue
        if not rest and kind == "operand?":
            arguments.append(_MISSING)
            continue
        if not rest:
            raise LimitError(f"{text!r}: {method} takes {', '.join(RULES[method])}")
        if kind == "operands":
            arguments.append("{" + ", ".join(f"&{operand(name)}" for name in rest) + "}")
            rest = []
        elif kind in ("operand", "operand?"):
            arguments.append(operand(rest.pop(0)))
        elif kind == "dtypes":
            arguments.append(_dtypes(" ".join(rest)))
            rest = []
        elif kind == "numbers":
            arguments.append("{" + ", ".join(map(_number, rest)) + "}")
            rest = []
        elif kind == "ranks":
            arguments += _ranks(",".join(rest))
            rest = []
        else:
            value = rest.pop(0)
            arguments += _range(value) if kind == "range" else [_number(value)]
    if rest:
        raise LimitError(f"{text!r}: {method} takes {', '.join(RULES[method])}")
    condition = " && ".join(expression for _, expression in conditions)
    return Check(int(code or INVALID), method, tuple(arguments), tuple(used), text, condition)


def parse_operand(name: str, kind: str, text: str) -> list[Check]:
    """The checks of one parameter of the given kind (`operators.schema.KINDS`)."""

    def check(method: str, *arguments: str) -> Check:
        return Check(INVALID, method, (name, *arguments), (name,), f"{name}: {text}")

    base = kind.rstrip("!?~[]")
    if base == "Tensor":
        dtypes, ranks, formats, *more = (part.strip() for part in (text + ";;").split(";"))
        if any(more):
            raise LimitError(f"{text!r} is not 'dtypes; ranks; formats'")
        checks = [check("dtypes", _dtypes(dtypes))]
        checks += [check("rank", *_ranks(ranks))] if ranks else []
        return checks + ([check("formats", _formats(formats))] if formats else [])
    if base in ("Scalar", "dtype"):
        return [check("dtypes", _dtypes(text))]
    if base == "str":
        return [check("oneOf", "{" + ", ".join(f'"{word}"' for word in text.split()) + "}")]
    return [check("range", *_range(text))]


def parse(raw: Any, parameters: dict[str, str]) -> Limits:
    """``parameters`` are the row's parameters and their kinds."""
    if not isinstance(raw, dict) or "source" not in raw:
        raise LimitError("limits are a mapping with the document as 'source'")
    source = str(raw["source"])
    if source.partition("/")[0] not in REPOSITORIES or not source.endswith(".md"):
        raise LimitError(f"source {source!r} is not a document in {', '.join(REPOSITORIES)}")
    checks: list[Check] = []
    for names, text in raw.items():
        if names in ("source", "rules"):
            continue
        for name in names.split():
            if name not in parameters:
                raise LimitError(f"{name!r} is no parameter")
            checks += parse_operand(name, parameters[name], str(text))
    rules = [part.strip() for part in str(raw.get("rules", "")).split(";") if part.strip()]
    checks += [parse_rule(rule, parameters) for rule in rules]
    if not checks:
        raise LimitError("no limit is given")
    return Limits(source, tuple(checks))


def statements(limits: Limits) -> list[str]:
    """The C++ statements of a function that makes the checks."""
    lines = []
    code = INVALID
    for check in limits.checks:
        if check.code != code:
            lines.append(f"limits.code({check.code});")
            code = check.code
        call = f"limits.{check.method}({', '.join(check.arguments)});"
        lines.append(f"if ({check.condition}) {call}" if check.condition else call)
    return lines
