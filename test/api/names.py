"""The public names of the official `torch_npu`, and the objects that they name here."""

from __future__ import annotations

import contextlib
import functools
import importlib
import types
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent

# Names with these prefixes are no Python objects: operators, C++ functions, variables.
_KINDS = ("func: ", "torch_c_func: ", "torch_npu_public_env: ")


def official_names() -> list[str]:
    """Every public name, in the order of the list."""
    return _FOLDER.joinpath("official_names.txt").read_text(encoding="utf-8").splitlines()


def downstream_names() -> dict[str, int]:
    """The names that two or more downstream projects call, with the number of projects."""
    lines = _FOLDER.joinpath("downstream_names.tsv").read_text(encoding="utf-8").splitlines()
    return {name: int(projects) for name, projects in (line.split("\t") for line in lines)}


def canonical(name: str) -> str:
    """`torch.npu.x` under its name in the package: `torch_npu.npu.x`."""
    return (
        f"torch_npu.npu{name.removeprefix('torch.npu')}" if name.startswith("torch.npu") else name
    )


def is_python(name: str) -> bool:
    return not name.startswith(_KINDS)


@functools.cache
def find(name: str) -> Any:
    """The object of that name. Raises `AttributeError` where there is none.

    What was found stays alive, so that no other object gets its identity.
    """
    found = _candidates(tuple(canonical(name).split(".")))
    if not found:
        raise AttributeError(name)
    return found[0]


def _candidates(parts: tuple[str, ...]) -> list[Any]:
    """What may be meant, the likeliest first: a function and its module may share a name."""
    found = []
    for owner in _candidates(parts[:-1]) if len(parts) > 1 else []:
        with contextlib.suppress(AttributeError):
            found.append(getattr(owner, parts[-1]))
    with contextlib.suppress(ModuleNotFoundError):
        module = importlib.import_module(".".join(parts))
        if module not in found:
            found.append(module)
    return found


def identity(found: Any) -> int | None:
    """Equal for two names of one thing; `None` for what is not called: it has no other names."""
    if isinstance(found, types.MethodType):
        return hash((id(found.__func__), id(found.__self__)))
    return id(found) if callable(found) or isinstance(found, types.ModuleType) else None
