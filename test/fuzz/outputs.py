"""Ways to spoil the outputs that an out form is given, and devices that do not fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import torch
from fuzz.mutations import Arguments, is_tensor
from fuzz.seeds import Call
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

DTYPES = (torch.float64, torch.int32, torch.int64, torch.float16, torch.complex64, torch.bool)


def spoilt(outputs: list[torch.Tensor], call: Call) -> Iterator[tuple[str, list[torch.Tensor]]]:
    """Right outputs, and then with one of them spoilt; and what was done to it."""
    for place, out in enumerate(outputs):
        for name, other in _spoilt_one(out, call):
            yield name, [*outputs[:place], other, *outputs[place + 1 :]]


def _spoilt_one(out: torch.Tensor, call: Call) -> Iterator[tuple[str, torch.Tensor]]:
    yield "out", torch.ones_like(out)
    for dtype in DTYPES:
        if dtype != out.dtype:
            yield "out-dtype", torch.ones(out.shape, dtype=dtype)
    yield "out-size", torch.ones((*out.shape, 2), dtype=out.dtype)
    yield "out-empty", torch.empty(0, dtype=out.dtype)
    yield "out-strides", torch.stack([out, out], -1).select(-1, 1)
    if out.numel() > 1:
        yield "out-expanded", torch.empty((), dtype=out.dtype).expand(out.shape)
    if out.is_complex():
        yield "out-lazy", torch.ones_like(out).conj()
    for leaf in tree_leaves((call.args, call.kwargs)):
        if is_tensor(leaf) and leaf.dtype == out.dtype and leaf.numel() > 1:
            yield "out-is-input", leaf
            if leaf.dim() > 0 and leaf.is_contiguous():
                yield "out-overlaps-input", leaf.flatten()[1:]


@dataclasses.dataclass(frozen=True)
class Stays:
    """A tensor that does not go to the device of the others."""

    tensor: torch.Tensor
    device: str


def misplaced(arguments: Arguments, devices: tuple[str, ...]) -> Iterator[tuple[str, Arguments]]:
    """The call with one of its tensors on each of these devices, given as Stays."""
    leaves, tree = tree_flatten(arguments)
    places = [place for place, leaf in enumerate(leaves) if is_tensor(leaf)]
    if len(places) < 2:
        return
    for place in places:
        for device in devices:
            changed = [Stays(x, device) if i == place else x for i, x in enumerate(leaves)]
            yield f"device-{device.replace(':', '')}", tree_unflatten(changed, tree)
