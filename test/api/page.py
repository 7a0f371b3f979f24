"""Writes docs/api.md, the page that says for every public name whether it works.

cd test && python -m api.page
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from . import names
from .declarations import TESTS, declared

PAGE = TESTS.parent / "docs" / "api.md"

_HEAD = """\
<!-- Written by `python -m api.page` in test/; do not edit. -->
# The API of `torch_npu`: what works

The official package has {total} public names. **{working} of them work here**: a test calls each
and checks what it did, and while the test runs it is checked that it calls it. Where one object has
several names, a test of one of them stands for all. Any other name raises an error that says so,
or does not exist.

| part | works | of |
|---|---:|---:|
{parts}

Of the {downstream} names that two or more of eight projects for Ascend call, {called} work;
without a test: {uncalled}.
"""

_PARTS = {
    "func:": "operators of the dispatcher",
    "torch_c_func:": "C++ functions",
    "torch_npu_public_env:": "environment variables",
}


def working(covered: dict[str, str]) -> dict[str, str]:
    """The official and downstream names that work, with what shows it."""
    tests_of_object: dict[int, str] = {}
    for name, test in covered.items():
        found = _identity(name)
        if found is not None:
            tests_of_object.setdefault(found, test)
    result = {}
    for name in [*names.official_names(), *names.downstream_names()]:
        test = covered.get(name) or covered.get(names.canonical(name))
        if test is None:
            found = _identity(name)
            test = tests_of_object.get(found) if found is not None else None
        if test is not None:
            result[name] = test
    return result


def _identity(name: str) -> int | None:
    if not names.is_python(name):
        return None
    try:
        return names.identity(names.find(name))
    except AttributeError:
        return None


def part_of(name: str) -> str:
    """The part of the API that a name is counted under."""
    first = name.split(" ", 1)[0]
    if first in _PARTS:
        return _PARTS[first]
    parts = name.split(".")
    if len(parts) == 2 and parts[1] != "HiFloat8Tensor":
        return "operators under `torch_npu`"
    return f"`{'.'.join(parts[:2])}`"


def text() -> str:
    """The page."""
    covered = declared()
    shown = working(covered)
    official = names.official_names()
    groups: dict[str, list[str]] = {}
    for name in official:
        groups.setdefault(part_of(name), []).append(name)
    counts = [
        f"| {part} | {sum(name in shown for name in group)} | {len(group)} |"
        for part, group in groups.items()
    ]
    downstream = names.downstream_names()
    uncalled = [name for name in downstream if name not in shown]
    sections = [
        _HEAD.format(
            total=len(official),
            working=sum(name in shown for name in official),
            parts="\n".join(counts),
            downstream=len(downstream),
            called=len(downstream) - len(uncalled),
            uncalled=", ".join(f"`{name}`" for name in uncalled) or "none",
        )
    ]
    sections += [_section(part, group, shown) for part, group in groups.items()]
    return "\n".join(sections)


def _section(part: str, group: Iterable[str], shown: dict[str, str]) -> str:
    rows = [f"| `{_bare(name)}` | {_outcome(name, shown)} |" for name in group]
    return "\n".join([f"## {part}", "", "| name | works, shown by |", "|---|---|", *rows, ""])


def _bare(name: str) -> str:
    first, _, rest = name.partition(" ")
    return (rest if first in _PARTS else name).replace("|", "\\|")


def _outcome(name: str, shown: dict[str, str]) -> str:
    if name not in shown:
        return "no"
    path, _, test = shown[name].partition("::")
    place = path.removeprefix("test/")
    return f"[{test or place}](../{path})"


def main() -> None:
    """Writes the page."""
    Path(PAGE).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
