"""Ways to spoil a call, each drawn from a generator of its own seed.

A change takes the call's arguments and gives them changed, or None where it does not apply. The
names are those of known_differences.txt.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

DTYPES = (
    *(torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16),
    *(torch.float32, torch.float64, torch.complex64),
)
INTEGERS = (-3, -1, 0, 1, 2, 5, 40)
NUMBERS = (0.0, -1.0, 0.5, 3.0, 1e30, float("nan"), float("inf"))
HUGE = 2**40

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Change = Callable[[Any, Arguments, random.Random], Arguments | None]


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def leafwise(applies: Callable[[Any], bool], change: Callable[[Any, random.Random], Any]) -> Change:
    """Changes one value of those that it applies to."""

    def changed(_function: Any, arguments: Arguments, generator: random.Random) -> Arguments | None:
        leaves, tree = tree_flatten(arguments)
        places = [place for place, leaf in enumerate(leaves) if applies(leaf)]
        if not places:
            return None
        place = generator.choice(places)
        leaves[place] = change(leaves[place], generator)
        return tree_unflatten(leaves, tree)  # type: ignore[no-any-return]

    return changed


def other_dtype(tensor: torch.Tensor, generator: random.Random) -> torch.Tensor:
    return tensor.to(generator.choice([d for d in DTYPES if d != tensor.dtype]))


def other_rank(tensor: torch.Tensor, generator: random.Random) -> torch.Tensor:
    ways = [lambda: tensor.unsqueeze(0), lambda: tensor.unsqueeze(-1).expand(*tensor.shape, 2)]
    if tensor.dim() > 0 and tensor.numel() > 0:
        ways += [lambda: tensor[0], lambda: tensor.flatten(), lambda: tensor.flatten()[0]]
    return generator.choice(ways)().clone()


def other_size(tensor: torch.Tensor, generator: random.Random) -> torch.Tensor:
    dim = generator.randrange(tensor.dim())
    ways = [
        lambda: tensor.narrow(dim, 0, 0),
        lambda: torch.cat([tensor, tensor], dim),
        lambda: tensor.narrow(dim, 0, min(1, tensor.size(dim))),
    ]
    return generator.choice(ways)().clone()


def other_strides(tensor: torch.Tensor, generator: random.Random) -> torch.Tensor:
    """The same values: every other element of a buffer, or its dimensions in reverse."""
    if generator.random() < 0.5:
        spread = torch.stack([tensor, tensor], -1)
        return spread.select(-1, 1)
    order = tuple(reversed(range(tensor.dim())))
    return tensor.permute(order).contiguous().permute(order)


def expanded(tensor: torch.Tensor, _generator: random.Random) -> torch.Tensor:
    """All elements in one place of memory."""
    return tensor.flatten()[:1].clone().reshape(()).expand(tensor.shape)


def lazily_conjugated(tensor: torch.Tensor, generator: random.Random) -> torch.Tensor:
    if tensor.is_complex():
        return tensor.conj()
    if tensor.is_floating_point() and generator.random() < 0.5:
        return torch._neg_view(tensor)
    return torch.complex(tensor.float(), tensor.float()).conj()


def other_of(choices: tuple[Any, ...]) -> Callable[[Any, random.Random], Any]:
    return lambda value, generator: generator.choice([c for c in choices if c != value])


def all_to_dtype(_function: Any, arguments: Arguments, generator: random.Random) -> Arguments:
    """All tensors of one dtype together take another one."""
    leaves, tree = tree_flatten(arguments)
    dtypes = sorted({leaf.dtype for leaf in leaves if is_tensor(leaf)}, key=str)
    if dtypes:
        old = generator.choice(dtypes)
        new = generator.choice([d for d in DTYPES if d != old])
        leaves = [x.to(new) if is_tensor(x) and x.dtype == old else x for x in leaves]
    return tree_unflatten(leaves, tree)  # type: ignore[no-any-return]


def without_optional(
    function: Any, arguments: Arguments, generator: random.Random
) -> Arguments | None:
    """None for an argument that may be missing."""
    args, kwargs = list(arguments[0]), dict(arguments[1])
    optional = [
        (place, a.name)
        for place, a in enumerate(function._schema.arguments)
        if str(a.type).startswith("Optional")
        and a.name != "device"
        and (args[place] if place < len(args) else kwargs.get(a.name)) is not None
    ]
    if not optional:
        return None
    place, name = generator.choice(optional)
    if place < len(args):
        args[place] = None
    else:
        kwargs[name] = None
    return tuple(args), kwargs


def huge_dimension(
    function: Any, arguments: Arguments, generator: random.Random
) -> Arguments | None:
    args = list(arguments[0])
    places = [
        place
        for place, a in enumerate(function._schema.arguments[: len(args)])
        if a.name in ("dim", "dims", "dim0", "dim1", "dim2")
        and (is_integer(args[place]) or (isinstance(args[place], list) and args[place]))
    ]
    if not places:
        return None
    place = generator.choice(places)
    huge = generator.choice((HUGE, -HUGE))
    args[place] = huge if is_integer(args[place]) else [huge, *args[place][1:]]
    return tuple(args), arguments[1]


def same_tensor(_function: Any, arguments: Arguments, generator: random.Random) -> Arguments | None:
    """One tensor in two places."""
    leaves, tree = tree_flatten(arguments)
    places = [place for place, leaf in enumerate(leaves) if is_tensor(leaf)]
    if len(places) < 2:
        return None
    first, second = generator.sample(places, 2)
    leaves[second] = leaves[first]
    return tree_unflatten(leaves, tree)  # type: ignore[no-any-return]


def overlapping(_function: Any, arguments: Arguments, generator: random.Random) -> Arguments | None:
    """Two tensors that share a part of their memory."""
    leaves, tree = tree_flatten(arguments)
    tensors = [(i, leaf) for i, leaf in enumerate(leaves) if is_tensor(leaf) and leaf.numel() > 1]
    pairs = [
        (i, j)
        for i, left in tensors
        for j, right in tensors
        if i != j and left.dtype == right.dtype and left.shape == right.shape
    ]
    if not pairs:
        return None
    first, second = generator.choice(pairs)
    tensor = leaves[first]
    buffer = torch.cat([tensor.flatten(), tensor.flatten()[:1]])
    leaves[first] = buffer[:-1].reshape(tensor.shape)
    leaves[second] = buffer[1:].reshape(tensor.shape)
    return tree_unflatten(leaves, tree)  # type: ignore[no-any-return]


@dataclasses.dataclass(frozen=True)
class Mutation:
    name: str
    change: Change


def _has_dims(value: Any) -> bool:
    return is_tensor(value) and value.dim() > 0


def _has_elements(value: Any) -> bool:
    return is_tensor(value) and value.dim() > 0 and value.numel() > 0


MUTATIONS = (
    Mutation("none", lambda _function, arguments, _generator: arguments),
    Mutation("dtype", leafwise(is_tensor, other_dtype)),
    Mutation("dtypes", all_to_dtype),
    Mutation("rank", leafwise(is_tensor, other_rank)),
    Mutation("size", leafwise(_has_dims, other_size)),
    Mutation("strides", leafwise(_has_elements, other_strides)),
    Mutation("expanded", leafwise(_has_elements, expanded)),
    Mutation("lazy", leafwise(is_tensor, lazily_conjugated)),
    Mutation("flag", leafwise(lambda x: isinstance(x, bool), lambda value, _generator: not value)),
    Mutation("integer", leafwise(is_integer, other_of(INTEGERS))),
    Mutation("number", leafwise(lambda x: isinstance(x, float), other_of(NUMBERS))),
    Mutation("scalar", leafwise(lambda x: isinstance(x, (int, float)), other_of((True, 2j, 1.5)))),
    Mutation("word", leafwise(lambda x: isinstance(x, str), other_of(("no such word",)))),
    Mutation("missing", without_optional),
    Mutation("huge", huge_dimension),
    Mutation("same", same_tensor),
    Mutation("overlap", overlapping),
)


def mutate(
    function: Any, arguments: Arguments, generator: random.Random
) -> tuple[str, Arguments] | None:
    """The arguments with one thing changed, and the change's name; None if it doesn't apply."""
    mutation = generator.choice(MUTATIONS)
    changed = mutation.change(function, arguments, generator)
    return None if changed is None else (mutation.name, changed)
