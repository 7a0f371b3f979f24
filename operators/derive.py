"""Short rows, written out.

``softcann: special_entr``, an ATen function's bare name, stands for a function of softcann's own
with ATen's parameters in ATen's order, whose kernel is ATen's out form (or the functional form,
copied) and which that ATen function calls.

``foreach: _foreach_acos`` (or a list of them: the kernel is the first one's) beside a signature
stands for ATen's in-place operator on copies of the first list, and for both forms of the ATen
operators; ``outputs`` is the function of ``torch_npu::shapes`` that makes the list of results.
"""

from __future__ import annotations

import re
from typing import Any

from operators import aten

# The parameter kind for an ATen type, where the two are not spelled alike.
KINDS = {
    "float": "double",
    "float?": "double?",
    "ScalarType": "dtype",
    "ScalarType?": "dtype?",
}
ALIKE = {
    "Tensor",
    "Tensor?",
    "Tensor[]",
    "Tensor?[]",
    "Scalar",
    "Scalar?",
    "Scalar[]",
    "int",
    "int?",
    "int[]",
    "int[]?",
    "bool",
    "bool?",
    "str",
    "str?",
}
_ROW_KEYS = {"check", "half", "include", "kernel", "limits"}


class DerivationError(Exception):
    """An ATen function that is no pattern for a row; the text says what to write instead."""


def expand(raw: dict[str, Any]) -> dict[str, Any]:
    """The row in full; one that is not short is returned as it is."""
    if "foreach" in raw:
        return _expand_foreach(raw)
    return _expand_name(raw) if "(" not in raw.get("softcann", "(") else raw


def _expand_foreach(raw: dict[str, Any]) -> dict[str, Any]:
    signature = raw.get("aclnn", raw.get("softcann", ""))
    inputs = re.findall(r"\S+ (\w+)(?=,)", signature)
    ops = [raw["foreach"]] if isinstance(raw["foreach"], str) else raw["foreach"]
    if len(inputs) == 0 or not signature.endswith(", Tensor[]! out)") or "outputs" not in raw:
        raise DerivationError("a foreach row has inputs, 'Tensor[]! out' last, and outputs")
    entries = []
    for op in ops:
        base, dot, overload = op.partition(".")
        entries.append({"op": op, "outputs": {"out": f"shapes::{raw['outputs']}"}})
        entries.append({"op": f"{base}_{dot}{overload}"})
    inplace = f"at::{ops[0].partition('.')[0]}_"
    return {
        # Steps of optimizers bring other numbers each time: a check of each would run them twice.
        "check": "pointers",
        **{key: value for key, value in raw.items() if key not in ("foreach", "outputs")},
        "kernel": f"copyEach({inputs[0]}, out); {inplace}({', '.join(['out', *inputs[1:]])})",
        "include": "aclnn/kernels/foreach.h",
        "aten": entries,
    }


def function_name(op: str) -> str:
    """``_fft_c2c`` -> FftC2c, ``round.decimals`` -> RoundDecimals."""
    words = op.replace(".", "_").split("_")
    return "".join(word[:1].upper() + word[1:] for word in words)


def _expand_name(raw: dict[str, Any]) -> dict[str, Any]:
    """Keys of an aten entry (``outputs``, ``before`` ...) may stand in the row."""
    op = raw["softcann"]
    function = aten.functions().get(op)
    if function is None:
        raise DerivationError(f"ATen has no {op!r}, and it has no parameters of its own")
    inputs = {a.name: _kind(op, a) for a in function.arguments if a.type != "Generator?"}
    outputs = _outputs(function)
    parameters = [f"{kind} {name}" for name, kind in inputs.items()]
    parameters += [f"Tensor! {name}" for name in outputs]
    entry = {key: value for key, value in raw.items() if key not in {"softcann", *_ROW_KEYS}}
    return {
        "softcann": f"{function_name(op)}({', '.join(parameters)})",
        "kernel": _kernel(function, list(inputs), outputs),
        "aten": [{"op": op, **entry}],
        **{key: value for key, value in raw.items() if key in _ROW_KEYS},
    }


def _kind(op: str, argument: aten.Argument) -> str:
    kind = KINDS.get(argument.type, argument.type)
    if kind != argument.type or kind in ALIKE:
        return kind
    raise DerivationError(
        f"{op} has {argument.type} {argument.name}, for which no parameter kind is the obvious"
        " one; give the signature in full"
    )


def _outputs(function: aten.Function) -> list[str]:
    """The out form's names for them, told apart from the inputs'."""
    if function.variant != "functional" or any(kind != "Tensor" for kind in function.returns):
        raise DerivationError(
            f"{function.name} does not return new tensors; give the signature in full"
        )
    out = function.out_form
    names = out.out_arguments if out is not None else []
    if len(names) != len(function.returns):
        names = [f"out{index}" for index in range(len(function.returns))]
    taken = {a.name for a in function.arguments}
    return [f"{name}Out" if name in taken else name for name in names]


def _kernel(function: aten.Function, inputs: list[str], outputs: list[str]) -> str:
    if function.out_form is not None:
        return f"{function.out_kernel}({', '.join([*outputs, *inputs])})"
    call = function.call(inputs)
    if len(outputs) == 1:
        return f"{outputs[0]}.copy_({call})"
    copies = [f"{name}.copy_(std::get<{i}>(results))" for i, name in enumerate(outputs)]
    return "; ".join([f"const auto results = {call}", *copies])
