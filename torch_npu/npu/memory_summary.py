"""The table of `torch.npu.memory_summary()`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

_LABEL_WIDTH = 24
_VALUE_WIDTH = 12

# (key of the statistics, label, whether it is in bytes, whether it is split by pool)
_ROWS = (
    ("allocated_bytes", "Allocated memory", True, True),
    ("active_bytes", "Active memory", True, True),
    ("requested_bytes", "Requested memory", True, True),
    ("reserved_bytes", "Reserved memory", True, True),
    ("inactive_split_bytes", "Non-releasable memory", True, True),
    ("allocation", "Allocations", False, True),
    ("active", "Active allocations", False, True),
    ("segment", "Reserved segments", False, True),
    ("inactive_split", "Non-releasable blocks", False, True),
    ("oversize_allocations", "Oversize allocations", False, False),
    ("oversize_segments", "Oversize segments", False, False),
)

_COLUMNS = ("current", "peak", "allocated", "freed")
_HEADINGS = ("Now", "Peak", "Total alloc", "Total freed")


def format_memory_summary(stats: Mapping[str, int], index: int, abbreviated: bool) -> str:
    """A table of `stats`, the result of `memory_stats` for the device `index`."""
    width = _LABEL_WIDTH + len(_COLUMNS) * (_VALUE_WIDTH + 3) + 1
    heavy, light = "=" * width, "-" * width
    lines = [
        heavy,
        f"Memory of npu:{index}".center(width),
        light,
        f"Out-of-memory errors: {stats.get('num_ooms', 0)}, "
        f"allocations retried: {stats.get('num_alloc_retries', 0)}",
        heavy,
        _line("Metric", _HEADINGS),
    ]
    for key, label, in_bytes, by_pool in _ROWS:
        lines.append(light)
        write = _bytes if in_bytes else _count
        lines.append(_line(label, _values(stats, f"{key}.all" if by_pool else key, write)))
        if by_pool and not abbreviated:
            lines.append(_line("  large pool", _values(stats, f"{key}.large_pool", write)))
            lines.append(_line("  small pool", _values(stats, f"{key}.small_pool", write)))
    lines.append(heavy)
    return "\n".join(f"|{line:<{width}}|" for line in lines) + "\n"


def _line(label: str, values: tuple[str, ...]) -> str:
    cells = "".join(f" | {value:>{_VALUE_WIDTH}}" for value in values)
    return f" {label:<{_LABEL_WIDTH - 1}}{cells}"


def _values(stats: Mapping[str, int], prefix: str, write: Callable[[int], str]) -> tuple[str, ...]:
    return tuple(write(stats.get(f"{prefix}.{column}", 0)) for column in _COLUMNS)


def _bytes(amount: int) -> str:
    size = float(amount)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{amount} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _count(number: int) -> str:
    return str(number)
