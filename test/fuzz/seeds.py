"""Right calls of every ATen operator of the table: what wrong ones are made from.

Most are recorded while PyTorch's own samples run on the CPU, their gradients included. In-place and
out forms take over a functional form's call, and what no sample reaches is drawn by its schema.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import warnings
from collections.abc import Callable
from typing import Any

import torch
from conformance import outcomes, samples
from torch.testing._internal import common_methods_invocations as database
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from operators import generate, schema

CALLS_EACH = 3
SAMPLES_EACH = 2
DRAWS = 30  # of which the first one that the CPU takes is kept


@dataclasses.dataclass
class Call:
    """One call of an overload, without its out arguments."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


Calls = dict[str, list[Call]]


@functools.cache
def overloads() -> list[str]:
    """Every ATen overload that the table registers for npu, e.g. "add.Tensor"."""
    rows = schema.load(generate.ROOT / "table")
    by_function = {row.function: row for row in rows}
    listed = generate.listed_operators(rows)
    names = {
        str(entry["name"])
        for row in rows
        for entry in generate.registrations(row, by_function, listed)
        if not entry["custom"]
    }
    return sorted(names)


def overload(name: str) -> Any:
    packet, _, variant = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), variant or "default")


def name_of(function: Any) -> str:
    return str(function).removeprefix("aten.").removesuffix(".default")


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return samples.copy_to(value, "cpu").requires_grad_(False)
    return value


def _is_plain(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        strided = value.layout == torch.strided and not value.is_quantized
        return type(value) is torch.Tensor and value.device.type == "cpu" and strided
    kinds = (bool, int, float, complex, str, torch.dtype, torch.layout, torch.memory_format)
    return value is None or isinstance(value, kinds)


class _Recorder(TorchDispatchMode):
    """Keeps copies of the calls that reach the CPU's kernels."""

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        known = self.calls.setdefault(name_of(func), [])
        plain = all(map(_is_plain, tree_leaves((args, kwargs))))
        if func.namespace == "aten" and len(known) < CALLS_EACH and plain:
            known.append(Call(*tree_map(_copied, (tuple(args), dict(kwargs or {})))))
        return func(*args, **(kwargs or {}))


def record(beat: Callable[[], None]) -> Calls:
    """Runs PyTorch's samples, and `beat` between them. It starts threads for the gradients, that no
    fork survives."""
    calls: Calls = {}
    foreach = (
        *(database.foreach_unary_op_db, database.foreach_binary_op_db),
        *(database.foreach_pointwise_op_db, database.foreach_other_op_db),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in (*database.op_db, *itertools.chain(*foreach)):
            beat()
            dtypes = entry.supported_dtypes("cpu")
            if dtypes:
                first = torch.float32 if torch.float32 in dtypes else sorted(dtypes, key=str)[0]
                _record(entry, first, calls)
    return calls


def _record(entry: Any, dtype: torch.dtype, calls: Calls) -> None:
    samples.seed("cpu", samples.seed_for(entry.full_name))
    wants_gradient = entry.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    found = samples.of_database(entry, dtype, wants_gradient)
    forms = [form for form in (entry, entry.get_inplace()) if form is not None]
    for sample in itertools.islice(found, SAMPLES_EACH):
        for form in forms:
            with _Recorder(calls):
                # What fails here, for want of a GPU or of a gradient, has been recorded before.
                outcomes.attempt(functools.partial(_run, form, sample))


def _run(form: Any, sample: Any) -> None:
    result = form(sample.input, *sample.args, **sample.kwargs)
    totals = [
        leaf.sum().abs()
        for leaf in tree_leaves(result)
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    ]
    if totals:
        torch.autograd.backward(totals)


def functional(function: Any) -> Any:
    """The overload that an in-place or out form belongs to, or None."""
    packet = function.__name__.partition(".")[0]
    stem = packet.removesuffix("_") if not packet.endswith("__") else packet
    wanted = [(str(a.type), a.name) for a in function._schema.arguments if not _is_out(a)]
    family = getattr(torch.ops.aten, stem, None)
    for variant in family.overloads() if family is not None else ():
        other = getattr(family, variant)
        if [(str(a.type), a.name) for a in other._schema.arguments] == wanted:
            return other
    return None


def _is_out(argument: Any) -> bool:
    alias = argument.alias_info
    return bool(argument.kwarg_only and alias is not None and alias.is_write)


def is_internal(function: Any) -> bool:
    """Whether PyTorch alone calls it, with arguments that are right: its kernel checks little."""
    name = function.__name__.partition(".")[0]
    return (name[0] == "_" and name[1] != "_" and "foreach" not in name) or "backward" in name


def outputs(function: Any) -> list[str]:
    """The names of its out arguments."""
    return [a.name for a in function._schema.arguments if _is_out(a)]


def calls(function: Any, known: Calls) -> list[Call]:
    """Calls of the overload: recorded, a functional form's, or drawn by the schema."""
    for source in (function, functional(function)):
        found = known.get(name_of(source)) if source is not None else None
        if found:
            return [Call(*tree_map(_copied, (c.args, c.kwargs))) for c in found]
    generator = random.Random(samples.seed_for(str(function)))
    drawn = [draw(function, generator) for _ in range(DRAWS)]
    if is_internal(function):
        return drawn[:CALLS_EACH]
    return sorted(drawn, key=lambda call: not _works(function, call))[:1]


def _works(function: Any, call: Call) -> bool:
    args, kwargs = tree_map(_copied, (call.args, call.kwargs))
    kwargs.update({name: torch.empty(0) for name in outputs(function)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outcomes.attempt(lambda: function(*args, **kwargs)).error is None


def draw(function: Any, generator: random.Random) -> Call:
    """A call by the schema alone; whether the CPU takes it is not known."""
    torch.manual_seed(generator.randrange(2**31))
    args, kwargs = [], {}
    sizes = generator.choice(([2, 3], [3], [1, 2, 4, 4], [1, 2, 3, 4, 4], [3, 3], []))
    for argument in function._schema.arguments:
        if str(argument.type) == "Optional[Device]":
            kwargs[argument.name] = torch.device("cpu")
            continue
        if _is_out(argument) or (argument.kwarg_only and argument.has_default_value()):
            continue
        value = _draw_value(str(argument.type), argument.name, sizes, generator)
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return Call(tuple(args), kwargs)


def _draw_tensor(name: str, sizes: list[int], generator: random.Random) -> torch.Tensor:
    if generator.random() < 0.2:
        sizes = sizes[-1:]
    words = ("ind", "target", "mask", "offsets", "count")
    if any(word in name for word in words) or generator.random() < 0.25:
        return torch.randint(0, 2, sizes)
    return torch.rand(sizes)


def _draw_value(kind: str, name: str, sizes: list[int], generator: random.Random) -> Any:
    if kind.startswith(("List[Tensor]", "List[Optional[Tensor]]")):
        return [_draw_tensor(name, sizes, generator) for _ in range(2)]
    if "Tensor" in kind:
        return _draw_tensor(name, sizes, generator)
    spatial = max(len(sizes) - 2, 1)
    if kind.startswith(("List[int]", "Optional[List[int]]")):
        if "size" in name and name != "output_size":
            return list(sizes)
        count = spatial * 2 if name == "padding" else spatial
        return [generator.randrange(1, 4) for _ in range(count)]
    if kind.startswith("List[bool]"):
        return [True, True, True]
    if kind.startswith(("List[float]", "List[number]", "Optional[List[float]]")):
        return [1.0, 2.0]
    if kind.startswith("Optional"):
        return None
    if kind == "ScalarType":
        return torch.float32
    return {"int": 1, "SymInt": 1, "float": 0.5, "number": 2, "bool": True, "str": "none"}.get(kind)
