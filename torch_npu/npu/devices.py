"""Choosing devices and asking what they are."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import torch

from torch_npu import _C
from torch_npu.npu._utils import _get_device_index, _unavailable
from torch_npu.npu.lazy import _lazy_init, is_available

Device = torch.device | str | int | None


def current_device() -> int:
    """The index of the selected device. Initialises the backend."""
    _lazy_init()
    return _C._npu_getDevice()


def set_device(device: Device) -> None:
    """Selects `device` for this thread. A negative index selects nothing.

    Raises `RuntimeError` for an index without a device.
    """
    index = _get_device_index(device, optional=True)
    if index >= 0:
        _lazy_init()
        _C._npu_setDevice(index)


def _exchange_device(device: int) -> int:
    """Selects `device` and returns the one before; a negative index does nothing, returns -1."""
    if device < 0:
        return -1
    _lazy_init()
    return _C._npu_exchangeDevice(device)


def _maybe_exchange_device(device: int) -> int:
    """As `_exchange_device`, but starts no device that has not been started."""
    return -1 if device < 0 else _C._npu_maybeExchangeDevice(device)


class device:
    """A context manager that selects a device; `None` and a negative index select nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else _get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _exchange_device(self.idx)

    def __exit__(self, *_error: Any) -> Literal[False]:
        self.idx = _maybe_exchange_device(self.prev_idx)
        return False


class device_of(device):
    """A context manager that selects the device of a tensor or storage, if that is on `npu`."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_npu else -1)


class _DeviceGuard(device):
    """`device` for an index that is known to be one: PyTorch's compiler asks for it by name."""

    def __init__(self, index: int) -> None:
        super().__init__(index)


def synchronize(device: Device = None) -> None:
    """Waits for all work on every stream of `device`, the current one by default.

    Raises the error of work that failed; its message names the operator.
    """
    _lazy_init()
    if device is None:
        _C._npu_synchronize()
        return
    with _device_context(device):
        _C._npu_synchronize()


def _device_context(selected: Device) -> device:
    return device(selected)


def get_device_name(device_name: Device = None) -> str:
    """The name of a device, such as "Ascend910B2"; of the current one by default."""
    return get_device_properties(device_name).name


def get_device_properties(device_name: Device = None) -> _C._NPUDeviceProperties:
    """What a device has: `name`, `total_memory` in bytes, `cube_core_num`, `vector_core_num`,
    `L2_cache_size` in bytes, `uuid`; of the current device by default.

    Raises `AssertionError` for an index without a device.
    """
    _lazy_init()
    index = _get_device_index(device_name, optional=True)
    if not 0 <= index < _C._npu_getDeviceCount():
        raise AssertionError(
            f"Invalid device id {index}: there are {_C._npu_getDeviceCount()} npu devices"
        )
    return _C._npu_getDeviceProperties(index)


def get_device_capability(device: Device = None) -> None:
    """`None`, with a warning: CANN has no pair of numbers for what a device can do.

    `get_device_name()` tells devices apart.
    """
    _get_device_index(device, optional=True)
    warnings.warn(
        "torch.npu.get_device_capability() is None: CANN has no compute capability. Use "
        "torch.npu.get_device_name().",
        stacklevel=2,
    )


def can_device_access_peer(device_id: Device, peer_device_id: Device) -> bool:
    """Whether the first device can read and write the memory of the second.

    Raises `AssertionError` for an index without a device.
    """
    _lazy_init()
    first = _get_device_index(device_id, optional=True)
    second = _get_device_index(peer_device_id, optional=True)
    for index in (first, second):
        if not 0 <= index < _C._npu_getDeviceCount():
            raise AssertionError(f"Invalid device id {index}")
    return _C._npu_canDeviceAccessPeer(first, second)


def is_bf16_supported(including_emulation: bool = False) -> bool:
    """Whether devices compute in bfloat16: every Ascend 910B and later does."""
    return is_available() and not get_device_name().startswith(("Ascend310", "Ascend910A"))


def get_arch_list() -> list[str]:
    """The architectures that the backend was built for: the SoC of the devices, if any."""
    return [get_device_name()] if is_available() else []


# The numbers by which CANN's clients tell SoCs apart.
_SOC_VERSIONS = {
    "Ascend910B1": 220,
    "Ascend910B2": 221,
    "Ascend910B2C": 222,
    "Ascend910B3": 223,
    "Ascend910B4": 224,
    "Ascend910B4-1": 225,
    "Ascend910_9391": 250,
    "Ascend910_9392": 251,
    "Ascend910_9381": 252,
    "Ascend910_9382": 253,
    "Ascend910_9372": 254,
    "Ascend910_9362": 255,
}


def get_soc_version() -> int:
    """The number of the current device's SoC, such as 221 for an Ascend 910B2; -1 if unknown."""
    return _SOC_VERSIONS.get(get_device_name(), -1)


def utilization(device: Device = None) -> int:
    """The share of the last second in which the device was busy, in percent."""
    _get_device_index(device, optional=True)
    raise _unavailable("torch.npu.utilization()", "Run 'npu-smi info' to see what uses a device.")


def current_blas_handle() -> None:
    """`None`, with a warning: CANN has no handle of a BLAS library."""
    warnings.warn(
        "torch.npu.current_blas_handle() is None: CANN has no handle of a BLAS library. aclnn "
        "functions take the stream itself: torch.npu.current_stream().npu_stream.",
        stacklevel=2,
    )


def ipc_collect() -> None:
    """Frees memory that other processes have released.

    Memory returns to the allocator as soon as the process that received it lets go or ends, so
    there is nothing left to collect; initialises the backend as PyTorch's other `ipc_collect` does.
    """
    _lazy_init()


def fallback_counts() -> dict[str, int]:
    """How often each ATen operator ran on the CPU because `npu` has no kernel of its own.

    The counts start with the process and cannot be reset. The dictionary is a copy.
    """
    return dict(_C._npu_fallbackCounts())
