"""PyTorch's database of modules: each in training and evaluation, forwards and backwards, with its
parameters and inputs laid out in memory in several ways."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_flatten

from . import outcomes
from .samples import Arguments, laid_out, seed, seed_for

DATABASE = module_db
# As a module, and its inputs, are laid out. A module's parameters know one other format.
LAYOUTS = ("as they are", "backwards", "exchanged", "channels last")

_SEED = 20


@dataclasses.dataclass(frozen=True)
class Case:
    """A module on the CPU, and what it is called with."""

    title: str
    module: torch.nn.Module
    arguments: Arguments


def cases(info: Any, dtype: torch.dtype, training: bool, limit: int) -> Iterator[Case]:
    """The first `limit` of the entry's inputs, or all if it is 0, in each layout."""
    seed("cpu", seed_for(info.name, dtype, training))
    inputs = info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=True, training=training
    )
    for index, sample in enumerate(inputs[:limit] if limit else inputs):
        if sample.forward_input is None:
            continue
        made, called = sample.constructor_input, sample.forward_input
        seed("cpu", seed_for(info.name, index))
        kwargs = {"device": "cpu", "dtype": dtype} if _takes_dtype(info) else {}
        module = info.module_cls(*made.args, **{**kwargs, **made.kwargs}).to(dtype).train(training)
        plain = Arguments(tuple(called.args), dict(called.kwargs))
        if info.is_lazy:  # draws its parameters at its first call
            with torch.no_grad():
                copies = plain.on("cpu")
                module(*copies.args, **copies.kwargs)
        for layout in LAYOUTS:
            arguments = plain if layout == LAYOUTS[0] else laid_out(plain, layout)
            if arguments is None:
                continue
            title = f"{info.name} {dtype} {'training' if training else 'evaluation'}"
            yield Case(
                f"{title} {index} {sample.desc or ''} {layout}".replace("  ", " "),
                _in_layout(module, layout),
                arguments,
            )


def _takes_dtype(info: Any) -> bool:
    names = info.module_cls.__init__.__code__.co_varnames
    return "dtype" in names and "device" in names


def _in_layout(module: torch.nn.Module, layout: str) -> torch.nn.Module:
    module = copy.deepcopy(module)
    if layout != "channels last":
        return module
    for parameter in module.parameters():
        formats = {4: torch.channels_last, 5: torch.channels_last_3d}
        if parameter.dim() in formats:
            parameter.data = parameter.data.contiguous(memory_format=formats[parameter.dim()])
    return module


def disagreement(case: Case) -> str | None:
    """Why the module gives something else on npu than on the CPU: values, shapes, dtypes or strides
    of its results, its buffers, or the gradients of its inputs and parameters. None if it does not,
    or if the CPU refuses the call."""
    expected = outcomes.attempt(lambda: _run(case, "cpu"))
    if expected.error is not None:
        return None
    actual = outcomes.attempt(lambda: _run(case, "npu"))
    values = not _random(case)
    return outcomes.disagreement(expected, actual, "npu", values)


def _random(case: Case) -> bool:
    """Whether another seed gives another result."""
    if not case.module.training:
        return False
    first = outcomes.attempt(lambda: _run(case, "cpu"))
    second = outcomes.attempt(lambda: _run(case, "cpu", _SEED + 1))
    return outcomes.disagreement(first, second, "cpu", values=True) is not None


def _run(case: Case, device: str, seeded: int = _SEED) -> Any:
    module = copy.deepcopy(case.module).to(device)
    arguments = case.arguments.on(device)
    seed(device, seeded)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = module(*arguments.args, **arguments.kwargs)
    outputs = [leaf for leaf in _tensors(results) if leaf.requires_grad]
    wanted = [leaf for leaf in _tensors(arguments.leaves()) if leaf.requires_grad]
    wanted += [parameter for parameter in module.parameters() if parameter.requires_grad]
    gradients: Any = None
    if outputs and wanted:
        generator = torch.Generator().manual_seed(seed_for("gradient"))
        given = [
            torch.randn(output.shape, generator=generator).to(output.dtype).to(device)
            for output in outputs
        ]
        gradients = torch.autograd.grad(outputs, wanted, given, allow_unused=True)
    if device == "npu":
        torch.npu.synchronize()
    return results, gradients, list(module.buffers())


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def settle() -> None:
    """What a failed case left behind must not reach the next one."""
    with contextlib.suppress(Exception):
        torch.npu.synchronize()
