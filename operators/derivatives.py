"""The derivative of a custom operator: a call of another operator that gives its gradients.

A row says, as PyTorch's own derivatives.yaml does::

    backward:
      self, gamma: npu_rms_norm_backward(grad, self, gamma, result1)

On the left the inputs that get the call's results, in order. On the right positional arguments
in the order of the called operator's schema (keyword-only ones included; what is left out takes
its default): ``grad`` or ``grad0``, ``grad1``, … for the gradient of an output, ``result0``, … for
an output, the operator's own arguments by name, ``mask`` for which of the inputs on the left need
a gradient, or a C++ expression over ``sizes(name)``, ``size(name, dim)`` and ``dtype(name)``; it
calls functions by their names with namespaces.
"""

from __future__ import annotations

import dataclasses
import re

from operators.custom import CustomFunction
from operators.schema import TableError

_CALL = re.compile(r"^(?:(\w+)::)?([\w.]+)\((.*)\)$", re.DOTALL)
_WORD = re.compile(r"(?<![.:\w])[A-Za-z_]\w*\b(?!::)|\"[^\"]*\"")
_DESCRIBED = re.compile(r"\b(sizes|size|dtype)\((\w+)")
_CPP_WORDS = {"true", "false", "call", "int64_t"}


@dataclasses.dataclass(frozen=True)
class Derivative:
    targets: tuple[int, ...]  # positions of the inputs
    operator: str
    overload: str
    arguments: tuple[str, ...]  # C++ expressions that give an IValue each
    inputs: tuple[int, ...]  # positions of the inputs that the arguments read
    described: tuple[int, ...]  # inputs of which they read only sizes and dtype
    outputs: tuple[int, ...]  # likewise outputs
    gradients: tuple[int, ...]  # outputs whose gradients are read


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [*parts, current.strip()] if current.strip() else parts


def parse(function: CustomFunction, targets: str, call: str, where: str) -> Derivative:
    names = [a.name for a in function.arguments]
    match = _CALL.match(" ".join(call.split()))
    if match is None:
        raise TableError(f"{where}: backward is a call name(arguments), got {call!r}")
    read: dict[str, set[int]] = {"input": set(), "described": set(), "result": set(), "grad": set()}

    def position(name: str) -> int:
        if name not in names:
            raise TableError(f"{where}: backward names {name!r}, which is no argument")
        return names.index(name)

    def describe(helper: re.Match[str]) -> str:
        read["described"].add(position(helper[2]))
        return f"call.{helper[1]}({position(helper[2])}"

    def replace(word: re.Match[str]) -> str:
        text = word[0]
        if text.startswith('"'):
            return f"std::string({text})"
        if numbered := re.fullmatch(r"(grad|result)(\d*)", text):
            index = int(numbered[2] or 0)
            if index >= len(function.returns):
                raise TableError(f"{where}: backward names {text!r}, which is no output")
            read[numbered[1]].add(index)
            return f"call.{numbered[1]}({index})"
        if text == "mask":
            return "call.mask()"
        if text in names:
            read["input"].add(position(text))
            return f"call.input({position(text)})"
        if text in _CPP_WORDS:
            return text
        raise TableError(f"{where}: backward names {text!r}, which is no argument")

    arguments = tuple(
        _WORD.sub(replace, _DESCRIBED.sub(describe, part)) for part in _split(match[3])
    )
    operator, _, overload = match[2].partition(".")
    return Derivative(
        targets=tuple(position(name.strip()) for name in targets.split(",")),
        operator=f"{match[1] or function.namespace}::{operator}",
        overload=overload,
        arguments=arguments,
        inputs=tuple(sorted(read["input"])),
        described=tuple(sorted(read["described"])),
        outputs=tuple(sorted(read["result"])),
        gradients=tuple(sorted(read["grad"])),
    )
