"""Writes the libraries that refuse, and what `softcann coverage` reads.

    python softcann/interface/generate.py --output build/cmake/interface

reads ``libraries.yaml``. An entry has

``library``
    the name: ``hccl`` is ``libhccl.so``;
``links``
    the libraries of softcann that it is linked with, in which a lookup by name goes on;
``sources``
    folders below ``softcann/`` whose C++ files belong to it;
``refuses``
    the functions that are exported and not implemented. Each leaves a message that names it for
    ``aclGetRecentErrMsg()`` and returns what CANN has for "not supported": ``returns`` is a C
    type and that value (``void`` alone where nothing can be returned), ``reason`` says why, or
    what to use instead.

It writes a C++ file and a line of ``libraries.cmake`` for each library, and ``coverage.json``.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import re
import sys
from typing import Any

import jinja2
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "softcann" / "interface"
sys.path.insert(0, str(ROOT))

from operators import schema  # noqa: E402

NAMED_BY_CLIENTS = HERE / "aclnn_functions.txt"
RUNTIME_REFUSALS = ROOT / "softcann" / "runtime" / "api"
KEYS = {"library", "links", "sources", "refuses"}
REFUSAL_KEYS = {"returns", "reason", "functions"}


class TableError(Exception):
    """An entry that cannot be accepted; the text names it and says why."""


@dataclasses.dataclass(frozen=True)
class Refusal:
    name: str
    type: str
    value: str  # empty for void
    reason: str

    @property
    def code(self) -> str:
        """What the message is filed under; CANN's "not supported" where the value is no code."""
        return self.value if self.type == "int32_t" else "200001"


@dataclasses.dataclass(frozen=True)
class Library:
    name: str
    links: tuple[str, ...]
    sources: tuple[str, ...]
    refusals: tuple[Refusal, ...]


def _check_keys(mapping: dict[str, Any], allowed: set[str], where: str) -> None:
    unknown = set(mapping) - allowed
    if unknown:
        raise TableError(f"{where}: unknown key {sorted(unknown)}; known are {sorted(allowed)}")


def parse(raw: dict[str, Any]) -> Library:
    where = f"libraries.yaml: {raw.get('library', raw)}"
    _check_keys(raw, KEYS, where)
    refusals = []
    for group in raw.get("refuses", []):
        _check_keys(group, REFUSAL_KEYS, where)
        kind, _, value = str(group["returns"]).rpartition(" ")
        if not kind:
            kind, value = value, ""
        if (kind == "void") != (value == ""):
            raise TableError(f"{where}: returns is a type and a value, or void alone")
        refusals += [Refusal(name, kind, value, group["reason"]) for name in group["functions"]]
    if refusals and "ascendcl" not in raw.get("links", []):
        raise TableError(f"{where}: a refusal's message needs the library ascendcl in links")
    return Library(
        raw["library"],
        tuple(raw.get("links", [])),
        tuple(raw.get("sources", [])),
        tuple(refusals),
    )


def load(path: pathlib.Path) -> list[Library]:
    libraries = [parse(raw) for raw in yaml.safe_load(path.read_text())]
    seen: dict[str, str] = {}
    for library in libraries:
        for refusal in library.refusals:
            if refusal.name in seen:
                raise TableError(
                    f"{refusal.name} stands in {seen[refusal.name]} and {library.name}"
                )
            seen[refusal.name] = library.name
    return libraries


def coverage(libraries: list[Library], functions: list[str]) -> dict[str, Any]:
    """Which functions exist, which refuse, and which aclnn functions clients name in vain."""
    named = NAMED_BY_CLIENTS.read_text().split()
    refused = {f"lib{library.name}.so": [r.name for r in library.refusals] for library in libraries}
    macro = re.compile(r"^SOFTCANN_UN\w+\(\s*(\w+),", re.MULTILINE)
    sources = sorted(RUNTIME_REFUSALS.glob("unsupported*.cpp"))
    refused["libascendcl.so"] = [n for path in sources for n in macro.findall(path.read_text())]
    names = ["ascendcl", "opapi", *(library.name for library in libraries)]
    return {
        "libraries": [f"lib{name}.so" for name in names],
        "aclnn": {
            "implemented": sorted(functions),
            "named": len(named),
            "missing": sorted(set(named) - set(functions)),
        },
        "refused": {name: sorted(names) for name, names in sorted(refused.items()) if names},
    }


def write_if_changed(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate(output: pathlib.Path) -> None:
    libraries = load(HERE / "libraries.yaml")
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    template = templates.get_template("library.cpp.jinja")
    lines = []
    for library in libraries:
        text = template.render(library=library.name, refusals=library.refusals)
        write_if_changed(output / f"{library.name}.cpp", text)
        words = [library.name, "LINKS", *library.links, "SOURCES", *library.sources]
        lines.append(f"softcann_companion({' '.join(words)})\n")
    write_if_changed(output / "libraries.cmake", "".join(lines))
    rows = schema.load(ROOT / "operators" / "table")
    report = coverage(libraries, [row.function for row in rows if row.prefix == "aclnn"])
    write_if_changed(output / "coverage.json", json.dumps(report, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    try:
        generate(parser.parse_args().output)
    except (TableError, schema.TableError) as error:
        print(f"interface: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
