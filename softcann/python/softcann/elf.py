"""The dynamic symbols of a shared library, read without loading it (64-bit little-endian ELF)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_SECTION_HEADERS_AT = 0x28  # e_shoff
_SECTION_COUNTS_AT = 0x3A  # e_shentsize, e_shnum
_DYNAMIC_SYMBOLS = 11  # SHT_DYNSYM
_SYMBOL = struct.Struct("<IBBHQQ")


class ElfError(Exception):
    """A file that is no library of this machine's kind."""


@dataclass(frozen=True)
class Symbols:
    """What a library offers to others, and what it takes from them."""

    defined: frozenset[str]
    undefined: frozenset[str]


def read_symbols(path: Path) -> Symbols:
    """Reads the library's dynamic symbol table; raises ElfError if the file has none."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ElfError(f"{path} is not a 64-bit little-endian ELF file")
    (headers,) = struct.unpack_from("<Q", data, _SECTION_HEADERS_AT)
    size, count = struct.unpack_from("<HH", data, _SECTION_COUNTS_AT)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, headers + i * size) for i in range(count)]
    table = next((section for section in sections if section[1] == _DYNAMIC_SYMBOLS), None)
    if table is None:
        raise ElfError(f"{path} has no dynamic symbols")
    names_at = sections[table[6]][4]
    defined: set[str] = set()
    undefined: set[str] = set()
    for name, _, _, section, _, _ in _SYMBOL.iter_unpack(data[table[4] : table[4] + table[5]]):
        start = names_at + name
        text = data[start : data.index(b"\0", start)].decode()
        (defined if section else undefined).add(text)
    return Symbols(frozenset(defined), frozenset(undefined - {""}))
