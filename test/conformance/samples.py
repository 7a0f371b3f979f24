"""Sample arguments of an OpInfo entry: made on the CPU, then carried to the device under test."""

from __future__ import annotations

import dataclasses
import itertools
import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_map

# Positions of tensors that PyTorch wants on the CPU whatever the device, by entry.
STAYS_ON_CPU = {"tensor_split": (1,)}


@dataclasses.dataclass(frozen=True)
class Arguments:
    """One call's arguments. `finish` makes an output fit for comparison, such as by removing signs
    that a decomposition leaves free."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    finish: Callable[[Any], Any] = lambda output: output
    broadcasts_input: bool = False
    stays_on_cpu: tuple[int, ...] = ()

    def on(self, device: str) -> Arguments:
        """Copies on the device, but for what has to stay on the CPU."""
        copies = self.map(Mover(device))
        args = list(copies.args)
        for position in self.stays_on_cpu:
            args[position] = self.args[position]
        return dataclasses.replace(copies, args=tuple(args))

    def map(self, function: Callable[[Any], Any]) -> Arguments:
        args, kwargs = tree_map(function, (self.args, self.kwargs))
        return dataclasses.replace(self, args=args, kwargs=kwargs)

    def leaves(self) -> list[Any]:
        return tree_flatten((self.args, self.kwargs))[0]


def from_sample(entry: Any, sample: Any) -> Arguments:
    return Arguments(
        (sample.input, *sample.args),
        dict(sample.kwargs),
        sample.output_process_fn_grad,
        sample.broadcasts_input,
        STAYS_ON_CPU.get(entry.name, ()),
    )


def seed_for(*names: object) -> int:
    """The same seed for the same names in every process and on every machine."""
    return zlib.crc32("/".join(map(str, names)).encode())


def seed(device: str, value: int) -> None:
    """Of this device and the CPU alone: `torch.manual_seed` also queues it for absent devices."""
    torch.default_generator.manual_seed(value)
    if device == "npu":
        torch.npu.manual_seed(value)


def zero_size(arguments: Arguments) -> Arguments:
    """Every tensor emptied along its first dimension. What that means is for the CPU to say."""

    def shrink(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided and leaf.dim() > 0:
            return leaf.detach()[:0].clone().requires_grad_(leaf.requires_grad)
        return leaf

    return arguments.map(shrink)


def conjugated(arguments: Arguments) -> Arguments:
    """Every complex tensor lazily conjugated: a kernel that overlooks the bit computes wrongly."""

    def conjugate(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided and leaf.is_complex():
            return leaf.detach().conj().requires_grad_(leaf.requires_grad)
        return leaf

    return arguments.map(conjugate)


def _backwards(tensor: torch.Tensor) -> torch.Tensor:
    order = tuple(reversed(range(tensor.dim())))
    return tensor.permute(order).contiguous().permute(order)


def _exchanged(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() < 3:
        return tensor
    return tensor.transpose(0, 1).contiguous().transpose(0, 1)


def _channels_last(tensor: torch.Tensor) -> torch.Tensor:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    if tensor.dim() not in formats:
        return tensor
    return tensor.contiguous(memory_format=formats[tensor.dim()])


# How tensors are laid out: their dimensions' order in memory turned round, the first two exchanged,
# as sequences are when batches come first, and the channels last.
LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "backwards": _backwards,
    "exchanged": _exchanged,
    "channels last": _channels_last,
}


def laid_out(arguments: Arguments, layout: str) -> Arguments | None:
    """The arguments with every tensor in this layout; None if that changes none."""
    changed = False

    def lay_out(leaf: Any) -> Any:
        nonlocal changed
        if type(leaf) is not torch.Tensor or leaf.layout != torch.strided or leaf.is_nested:
            return leaf
        moved = LAYOUTS[layout](leaf.detach())
        changed = changed or moved.stride() != leaf.stride()
        return moved.requires_grad_(leaf.requires_grad)

    moved = arguments.map(lay_out)
    return moved if changed else None


def in_layouts(
    entry: Any, dtype: torch.dtype, requires_grad: bool, limit: int
) -> Iterator[Arguments]:
    """The first `limit` samples, or all if it is 0, in each layout that changes them."""
    for sample in itertools.islice(_plain(entry, dtype, requires_grad), limit or None):
        for layout in LAYOUTS:
            arguments = laid_out(from_sample(entry, sample), layout)
            if arguments is not None:
                yield arguments


def of_database(entry: Any, dtype: torch.dtype, requires_grad: bool) -> Iterator[Any]:
    """What `sample_inputs` gives, without the search of the stack for a test that asks for them,
    which takes longer than most kernels."""
    return iter(entry.sample_inputs_func(entry, "cpu", dtype, requires_grad))


def _plain(entry: Any, dtype: torch.dtype, requires_grad: bool) -> Iterator[Any]:
    """Seeded here, sample by sample."""
    samples = of_database(entry, dtype, requires_grad)
    for index in itertools.count():
        value = seed_for(entry.full_name, dtype, index)
        seed("cpu", value)
        random.seed(value)
        np.random.seed(value)
        sample = next(samples, None)
        if sample is None:
            return
        yield sample


def _noncontiguous(entry: Any, sample: Any) -> Arguments:
    """The sample itself where a tensor has no strides."""
    plain = from_sample(entry, sample)
    tensors = [leaf for leaf in plain.leaves() if isinstance(leaf, torch.Tensor)]
    if any(tensor.layout != torch.strided for tensor in tensors):
        return plain
    return from_sample(entry, sample.noncontiguous())


def few(
    entry: Any, dtype: torch.dtype, requires_grad: bool, limit: int, conjugates: bool = True
) -> Iterator[Arguments]:
    """The first `limit` samples: contiguous, not contiguous, and, where that is a thing and wanted,
    conjugated."""
    samples = itertools.islice(_plain(entry, dtype, requires_grad), limit)
    for index, sample in enumerate(samples):
        if index % 3 == 1:
            yield _noncontiguous(entry, sample)
        elif index % 3 == 2 and conjugates:
            yield conjugated(from_sample(entry, sample))
        else:
            yield from_sample(entry, sample)


def every(entry: Any, dtype: torch.dtype, requires_grad: bool) -> Iterator[Arguments]:
    """Each sample as it is, not contiguous and, of complex numbers, conjugated; the first one also
    with zero elements; and the arguments that the database knows to be wrong."""
    for index, sample in enumerate(_plain(entry, dtype, requires_grad)):
        yield from_sample(entry, sample)
        yield _noncontiguous(entry, sample)
        if dtype.is_complex:
            yield conjugated(from_sample(entry, sample))
        if index == 0:
            yield zero_size(from_sample(entry, sample))
    if dtype == torch.float32 and not requires_grad and entry.error_inputs_func is not None:
        for error in entry.error_inputs("cpu"):
            yield from_sample(entry, error.sample_input)


class Mover:
    """Copies trees of CPU values to a device: strides, overlaps and lazy conjugation included.
    Tensors of another device, which some wrong arguments have on purpose, stay where they are.

    A tensor that occurs twice stays one tensor, and `cpu` given as a device becomes the device.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._moved: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # the source is kept alive

    def __call__(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            if leaf.device.type != "cpu":
                return leaf
            if id(leaf) not in self._moved:
                self._moved[id(leaf)] = (leaf, copy_to(leaf, self.device))
            return self._moved[id(leaf)][1]
        if isinstance(leaf, torch.device) and leaf.type == "cpu":
            return torch.device(self.device)
        if isinstance(leaf, str) and leaf in ("cpu", "cpu:0"):
            return self.device
        return leaf


def copy_to(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """A leaf on the device with the source's values, sizes and strides."""
    source = tensor.detach()
    if type(source) is not torch.Tensor or source.layout != torch.strided or source.is_quantized:
        return source.clone().to(device).requires_grad_(tensor.requires_grad)
    if source.is_conj():
        copy = _copy_strided(source.conj(), device).conj()
    elif source.is_neg():
        copy = torch._neg_view(_copy_strided(torch._neg_view(source), device))
    else:
        copy = _copy_strided(source, device)
    return copy.detach().requires_grad_(tensor.requires_grad)


def _copy_strided(source: torch.Tensor, device: str) -> torch.Tensor:
    spans = [
        (size - 1) * stride for size, stride in zip(source.shape, source.stride(), strict=True)
    ]
    elements = 0 if source.numel() == 0 else sum(spans) + 1
    flat = source.as_strided((elements,), (1,), source.storage_offset())
    return flat.clone().to(device).as_strided(source.shape, source.stride(), 0)
