"""Switches of CANN. Those that change nothing here are kept and can be read back.

Results are the CPU's in IEEE float32 whatever is allowed, and tensors stay in the ND format, so
the precision and format switches are permissions that no kernel here makes use of.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from torch_npu import _C
from torch_npu.npu._utils import _get_device_index, _unavailable
from torch_npu.npu.devices import Device, get_device_properties
from torch_npu.npu.lazy import is_initialized

# What set_option accepts. The values are strings, as CANN's own are.
_OPTION_NAMES = frozenset(
    {
        "ACL_AICORE_NUM",
        "ACL_DEBUG_DIR",
        "ACL_MODIFY_MIXLIST",
        "ACL_OPTYPELIST_FOR_IMPLMODE",
        "ACL_OP_COMPILER_CACHE_DIR",
        "ACL_OP_COMPILER_CACHE_MODE",
        "ACL_OP_DEBUG_LEVEL",
        "ACL_OP_DEBUG_OPTION",
        "ACL_OP_DETERMINISTIC",
        "ACL_OP_PRECISION_MODE",
        "ACL_OP_SELECT_IMPL_MODE",
        "ACL_PRECISION_MODE",
        "ALLOW_CONV_HF32",
        "ALLOW_INTERNAL_FORMAT",
        "ALLOW_MATMUL_HF32",
        "MM_BMM_ND_ENABLE",
        "autotune",
        "autotune_graphdumppath",
        "deviceId",
        "isjitcompile",
        "jitCompile",
        "mdldumpconfigpath",
        "mdldumpmode",
        "mdldumpswitch",
        "profilerResultPath",
        "toolkitCompile",
    }
)

_options: dict[str, str] = {}


def set_option(option: dict[str, str]) -> None:
    """Sets options of CANN by name.

    Raises `TypeError` for anything but a dictionary of strings and `ValueError` for a name that
    CANN does not have; nothing is set then.
    """
    if not isinstance(option, dict):
        raise TypeError(f"option must be a dict, but got: {type(option).__name__}")
    for name, value in option.items():
        if name not in _OPTION_NAMES:
            raise ValueError(f"'{name}' is not an option; the options are {sorted(_OPTION_NAMES)}")
        if not isinstance(value, str):
            raise TypeError(f"the option '{name}' must be a str, but got: {value!r}")
    _options.update(option)


def get_option(name: str) -> str | None:
    """The value that `set_option` or a switch set; `None` where none has."""
    return _options.get(name)


def set_compile_mode(jit_compile: bool = False) -> None:
    """Chooses whether CANN compiles operators at run time. No operator here is compiled.

    Waits for the current device, if there is one in use, and raises the error of work that failed.
    """
    chosen = "enable" if _flag("jit_compile", jit_compile) else "disable"
    if is_initialized():
        _C._npu_synchronize()
    _options["jitCompile"] = chosen


def is_jit_compile_false() -> bool:
    """Whether operators are taken from the binary packages: unless `set_compile_mode(True)`."""
    return _options.get("jitCompile", "disable") == "disable"


def set_mm_bmm_format_nd(is_nd: bool = True) -> None:
    """Chooses the ND format for matrix products, which they have here in any case."""
    _options["MM_BMM_ND_ENABLE"] = "enable" if _flag("is_nd", is_nd) else "disable"


def get_mm_bmm_format_nd() -> bool:
    """What `set_mm_bmm_format_nd` chose; true at first."""
    return _options.get("MM_BMM_ND_ENABLE", "enable") == "enable"


class _Permission:
    """A switch of a namespace object: set as an attribute, kept as an option."""

    def __init__(self, option: str, default: bool) -> None:
        self._option = option
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> bool:
        value = _options.get(self._option)
        return self._default if value is None else value == "enable"

    def __set__(self, instance: Any, value: bool) -> None:
        _options[self._option] = "enable" if _flag(self._name, value) else "disable"


class _Config:
    """`torch.npu.config`. A name that it does not have cannot be set."""

    __slots__ = ()
    allow_internal_format = _Permission("ALLOW_INTERNAL_FORMAT", default=False)

    @property
    def strict(self) -> bool:
        """Whether operators refuse what CANN's documents say that the card refuses.

        For the whole process; the environment's `SOFTCANN_STRICT=1` turns it on from the start.
        Where a real CANN is configured there is no such switch: `NotImplementedError`.
        """
        return _C._npu_getStrictMode()

    @strict.setter
    def strict(self, value: bool) -> None:
        _C._npu_setStrictMode(_flag("strict", value))


class _Matmul:
    """`torch.npu.matmul`."""

    __slots__ = ()
    allow_hf32 = _Permission("ALLOW_MATMUL_HF32", default=False)


class _Conv:
    """`torch.npu.conv`."""

    __slots__ = ()
    allow_hf32 = _Permission("ALLOW_CONV_HF32", default=True)


config = _Config()
matmul = _Matmul()
conv = _Conv()

_compatible_implementations = False


def use_compatible_impl(is_enable: bool) -> None:
    """Prefers kernels whose results follow PyTorch's; every kernel here is PyTorch's."""
    global _compatible_implementations
    _compatible_implementations = _flag("is_enable", is_enable)


def are_compatible_impl_enabled() -> bool:
    """What `use_compatible_impl` chose; false at first."""
    return _compatible_implementations


# Limits of cores by device index, and by the stream's handle.
_device_limits: dict[int, dict[str, int]] = {}
_stream_limits: dict[int, dict[str, int]] = {}


def set_device_limit(device: Device, cube_num: int = -1, vector_num: int = -1) -> None:
    """Limits the cores of a device that operators use; -1 leaves a limit as it is.

    The limits can be read back. Kernels here run on the CPU's threads: torch.set_num_threads()
    limits those. Raises `ValueError` for more cores than there are.
    """
    index = _get_device_index(device, optional=True)
    _device_limits[index] = _limited(get_device_limit(index), index, cube_num, vector_num)


def get_device_limit(device: Device) -> dict[str, int]:
    """The cores that operators may use: "cube_core_num" and "vector_core_num"."""
    index = _get_device_index(device, optional=True)
    return dict(_device_limits.get(index, _cores(index)))


def set_stream_limit(stream: Any, cube_num: int = -1, vector_num: int = -1) -> None:
    """As `set_device_limit`, for the operators of one stream."""
    index = stream.device_index
    _stream_limits[stream.npu_stream] = _limited(
        get_stream_limit(stream), index, cube_num, vector_num
    )


def get_stream_limit(stream: Any) -> dict[str, int]:
    """The limits of a stream; those of its device where it has none of its own."""
    limit = _stream_limits.get(stream.npu_stream)
    return get_device_limit(stream.device_index) if limit is None else dict(limit)


def reset_stream_limit(stream: Any) -> None:
    """Removes the limits of a stream."""
    _stream_limits.pop(stream.npu_stream, None)


def _cores(index: int) -> dict[str, int]:
    properties = get_device_properties(index)
    return {
        "cube_core_num": properties.cube_core_num,
        "vector_core_num": properties.vector_core_num,
    }


def _limited(current: dict[str, int], index: int, cube_num: int, vector_num: int) -> dict[str, int]:
    total = _cores(index)
    for key, number in (("cube_core_num", cube_num), ("vector_core_num", vector_num)):
        if number == -1:
            continue
        if not 1 <= number <= total[key]:
            raise ValueError(f"{key} must be between 1 and {total[key]}, but got: {number}")
        current[key] = number
    return current


def set_deterministic_level(level: int) -> None:
    """0 allows operators that are not deterministic, 1 and 2 do not.

    2 also asks for results that do not depend on the batch, which no device promises here.
    """
    if level not in (0, 1):
        if level == 2:
            raise _unavailable("The deterministic level 2", "Level 1 repeats results exactly.")
        raise ValueError(f"level must be 0, 1 or 2, but got: {level!r}")
    torch.use_deterministic_algorithms(level == 1)


def set_aoe(dump_path: str) -> NoReturn:
    """Tuning of operators by CANN's compiler."""
    raise _unavailable("torch.npu.set_aoe()", "No operator here is compiled or tuned.")


def init_dump() -> NoReturn:
    """Dumping of operators' inputs and outputs by CANN."""
    raise _unavailable("torch.npu.init_dump()", "Use a torch.utils._python_dispatch mode.")


def set_dump(cfg_file: str) -> NoReturn:
    """Dumping of operators' inputs and outputs by CANN."""
    raise _unavailable("torch.npu.set_dump()", "Use a torch.utils._python_dispatch mode.")


def finalize_dump() -> NoReturn:
    """Dumping of operators' inputs and outputs by CANN."""
    raise _unavailable("torch.npu.finalize_dump()", "Use a torch.utils._python_dispatch mode.")


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, but got: {value!r}")
    return value
