"""A wrong value for any argument of any operator of Ascend's is refused by its name.

The cases are generated from the schemas: every operator of the namespaces `npu` and `atb`, every
argument of it, every kind of wrong value. Whatever the other arguments are (here the plainest that
their types allow), the error names operator and argument; it is never an assertion of PyTorch's
own, and never shows a path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import torch_npu

# Errors of these types only; subclasses among them, such as NotImplementedError.
REFUSALS = (TypeError, ValueError, RuntimeError)
PATH = re.compile(r"(^|[\s\"'(])/[\w.-]+/")


def own_operators() -> list[str]:
    names = torch._C._dispatch_get_all_op_names()
    return sorted(name for name in names if name.startswith(("npu::", "atb::")))


def schema_of(qualified: str) -> Any:
    name, _, overload = qualified.partition(".")
    return torch._C._get_schema(name, overload)


def callables(qualified: str) -> list[Callable[..., Any]]:
    """The overload, its packet where that has no other, and the function of the package."""
    space, _, rest = qualified.partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, space), name)
    found: list[Callable[..., Any]] = [getattr(packet, overload or "default")]
    if len(packet.overloads()) == 1:
        found += [packet, getattr(torch_npu, name)]
    elif overload == "out":
        found.append(getattr(torch_npu, name).out)
    return found


def plain(argument: Any) -> Any:
    """A value of the argument's type."""
    if argument.has_default_value():
        return argument.default_value
    kind = argument.real_type.str()
    tensor = torch.ones(2, 4, device="npu")
    values = {
        "Tensor": tensor,
        "Tensor[]": [tensor],
        "int": 1,
        "float": 1.0,
        "bool": True,
        "str": "BSH",
        "int[]": [1],
        "SymInt[]": [1],
        "Scalar": 1,
        "ScalarType": torch.float32,
    }
    return None if kind.endswith("?") else values[kind]


def wrong_tensors() -> dict[str, Any]:
    return {
        "a word": "x",
        "numbers": [1, 2],
        "a dict": {},
        "a list": [torch.ones(2, 4, device="npu")],
        "host": torch.ones(2, 4),
        "another device": torch.ones(2, 4, device="npu:1"),
        "no values": torch.ones(2, 4, device="meta"),
        "sparse": torch.ones(2, 4).to_sparse(),
        "sparse on npu": torch.ones(2, 4, device="npu").to_sparse(),
        "nested": torch.nested.nested_tensor([torch.ones(4)], device="npu"),
        "jagged": torch.nested.nested_tensor([torch.ones(4)], device="npu", layout=torch.jagged),
        "None": None,
    }


def wrong_values(kind: str) -> dict[str, Any]:
    """Values that the type `kind` of a schema does not allow, `None` included."""
    on_npu = torch.ones(2, 4, device="npu")
    if kind == "Tensor":
        return wrong_tensors()
    if kind == "Tensor[]":
        return {
            "a word": "x",
            "a number": 3,
            "numbers": [1],
            "host": [torch.ones(2, 4)],
            "host among npu": [on_npu, torch.ones(2, 4)],
            "another device": [on_npu, torch.ones(2, 4, device="npu:1")],
            "with None": [None],
            "nested": [[on_npu]],
            "None": None,
        }
    numbers = {
        "a word": "x",
        "fractions": [1.5],
        "words": ["x"],
        "with None": [None],
        "nested": [[1]],
        "a fraction": 1.5,
        "a dict": {"a": 1},
        "floating point": torch.ones(2),
        "floating point on npu": torch.ones(2, device="npu"),
        "no dimension": torch.tensor(1),
        "no dimension on npu": torch.tensor(1, device="npu"),
        "rows": torch.ones(2, 2, dtype=torch.int64),
        "too large": [2**70],
        "None": None,
    }
    if kind == "int[]":
        return numbers | {"a tensor": torch.ones(2, dtype=torch.int64), "truth": torch.ones(2) > 0}
    if kind == "SymInt[]":
        return numbers | {"truth": torch.ones(2) > 0, "truths": [torch.tensor(True)]}
    more = {"a word": "x", "a list": [1], "a tensor": on_npu, "an object": object(), "None": None}
    others: dict[str, dict[str, Any]] = {
        "int": {"a fraction": 2.5, "too large": 2**70},
        "SymInt": {"a fraction": 2.5},
        "float": {"a complex": 1j},
        "bool": {"a dict": {}},
        "str": {"a word": 1},
        "Scalar": {},
        "bool[]": {"a number": 1, "words": ["x"]},
        "ScalarType": {},
        "Layout": {},
        "Device": {"a word": 1.5},  # for a word is a device's name, if of none
    }
    base = re.sub(r"\[\d+\]", "[]", kind)
    return more | others[base]


def allowed(qualified: str, argument: Any, label: str) -> bool:
    """What looks wrong and is not."""
    kind = argument.real_type.str()
    if label == "None":
        # PyTorch takes None for False, for its own operators too.
        return kind.endswith("?") or kind == "bool"
    if kind.startswith("bool[") and label == "a list":
        return True
    # Lengths that are read on the host, and thresholds.
    return label == "host" and argument.name in {
        "seq_len",
        "context_lens",
        "actual_seq_qlen",
        "actual_seq_kvlen",
        "iou_threshold",
        "scores_threshold",
    }


def calls(qualified: str) -> Iterator[tuple[str, str, list[Any], dict[str, Any]]]:
    """Calls with one wrong argument each: its name, what it is, the arguments."""
    arguments = schema_of(qualified).arguments
    values = {argument.name: plain(argument) for argument in arguments}
    for wrong in arguments:
        kind = wrong.real_type.str().removesuffix("?")
        for label, value in wrong_values(kind).items():
            if allowed(qualified, wrong, label) or only_tensor_elsewhere(arguments, wrong, label):
                continue
            keywords = values | {wrong.name: value}
            positional = [keywords.pop(a.name) for a in arguments if not a.kwarg_only]
            yield wrong.name, label, positional, keywords


def only_tensor_elsewhere(arguments: Any, wrong: Any, label: str) -> bool:
    """Whether the call is right after all: all its tensors are on another device, or on meta."""
    tensors = [a for a in arguments if a.real_type.str() in ("Tensor", "Tensor[]")]
    return tensors == [wrong] and label in ("another device", "no values")


def test_generator_sees_every_operator() -> None:
    assert len(own_operators()) >= 121
    kinds = {a.real_type.str() for name in own_operators() for a in schema_of(name).arguments}
    for kind in kinds:
        assert wrong_values(kind.removesuffix("?"))


def refusal(function: Callable[..., Any], positional: list[Any], keywords: dict[str, Any]) -> str:
    """The text of the error that the call raises, at once or in its stream; '' for none."""
    try:
        function(*positional, **keywords)
        torch.npu.synchronize()
    except REFUSALS as error:
        return str(error)
    return ""


@pytest.mark.skipif(torch.npu.device_count() < 2, reason="needs two devices")
@pytest.mark.parametrize("qualified", own_operators())
def test_wrong_value_is_refused_by_name(qualified: str) -> None:
    short = qualified.partition("::")[2].partition(".")[0]
    for argument, label, positional, keywords in calls(qualified):
        for function in callables(qualified):
            where = f"{short}({argument}={label})"
            text = refusal(function, positional, keywords)
            assert text, f"{where} was accepted"
            assert re.search(rf"\b{short}\b", text), f"{where} does not name it: {text}"
            assert re.search(rf"\b{argument}\b", text), f"{where} does not name it: {text}"
            assert "INTERNAL ASSERT" not in text, where
            assert not PATH.search(text), f"{where}: {text}"


def test_call_without_an_npu_tensor_names_what_was_expected() -> None:
    with pytest.raises(NotImplementedError, match=r"npu_swiglu: expected an npu tensor .* 'self'"):
        torch_npu.npu_swiglu(torch.ones(2, 4))


def test_kernel_of_the_users_for_another_device_is_called() -> None:
    library = torch.library.Library("npu", "IMPL")
    library.impl("npu_fast_gelu", lambda x: x + 1, "CPU")
    try:
        assert torch.ops.npu.npu_fast_gelu(torch.ones(2)).tolist() == [2, 2]
    finally:
        library._destroy()
    with pytest.raises(NotImplementedError, match="expected an npu tensor"):
        torch.ops.npu.npu_fast_gelu(torch.ones(2))


def test_number_without_dimensions_may_be_on_the_host() -> None:
    x = torch.randn(4, 8, device="npu")
    half = torch_npu.npu_linear(x, x, torch.tensor(0.5))
    torch.testing.assert_close(half, torch_npu.npu_linear(x, x) + 0.5)


def test_number_on_the_host_alone_or_to_be_written_is_refused() -> None:
    number = torch.tensor(1.0)
    with pytest.raises(NotImplementedError, match=r"npu_silu: expected an npu tensor .* 'self'"):
        torch_npu.npu_silu(number)
    with pytest.raises(NotImplementedError, match="npu_fast_gelu: expected an npu tensor"):
        torch_npu.npu_fast_gelu(number)
    with pytest.raises(RuntimeError, match="same device, but the argument 'self' is on cpu"):
        torch_npu.npu_dtype_cast_(number, torch.ones((), device="npu"))


def test_group_list_of_another_dtype_is_refused() -> None:
    x, weight = torch.ones(2, 4, device="npu"), torch.ones(2, 4, 4, device="npu")
    for groups in (torch.ones(2, device="npu"), torch.tensor(1)):
        with pytest.raises(RuntimeError, match="npu_grouped_matmul: expected group_list"):
            torch_npu.npu_grouped_matmul([x], [weight], group_list=groups, split_item=3)
