"""Dynamo's view of `npu`. Imports nothing of dynamo until dynamo itself has been imported."""

from __future__ import annotations

from typing import Any


def register_device_interface() -> None:
    """Registers `npu` with the device interfaces of dynamo and inductor."""
    import torch
    from torch._dynamo import device_interface

    from torch_npu import _C

    npu = torch.npu  # type: ignore[attr-defined]

    class NpuInterface(device_interface.DeviceInterface):
        """Forwards to `torch.npu`; `Worker` answers in compile workers, which own no device."""

        device = npu.device
        Event = npu.Event
        Stream = npu.Stream

        current_device = staticmethod(npu.current_device)
        set_device = staticmethod(npu.set_device)
        device_count = staticmethod(npu.device_count)
        is_available = staticmethod(npu.is_available)
        stream = staticmethod(npu.stream)
        current_stream = staticmethod(npu.current_stream)
        set_stream = staticmethod(npu.set_stream)
        synchronize = staticmethod(npu.synchronize)
        exchange_device = staticmethod(npu._exchange_device)
        maybe_exchange_device = staticmethod(npu._maybe_exchange_device)
        memory_allocated = staticmethod(npu.memory_allocated)
        is_bf16_supported = staticmethod(npu.is_bf16_supported)

        class Worker:
            @staticmethod
            def set_device(device: int) -> None:
                device_interface.caching_worker_current_devices["npu"] = device

            @staticmethod
            def current_device() -> int:
                chosen = device_interface.caching_worker_current_devices.get("npu")
                return npu.current_device() if chosen is None else chosen

            @staticmethod
            def get_device_properties(device: torch.types.Device = None) -> Any:
                properties = device_interface.caching_worker_device_properties
                if "npu" not in properties:
                    properties["npu"] = [
                        npu.get_device_properties(index) for index in range(npu.device_count())
                    ]
                return properties["npu"][npu._utils._get_device_index(device, True)]

        @staticmethod
        def get_raw_stream(device_index: int) -> int:
            return _C._npu_getCurrentRawStream(device_index)

        @staticmethod
        def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
            npu._set_stream_by_id(stream_id, device_index, device_type)

        @staticmethod
        def get_compute_capability(device: torch.types.Device = None) -> str:
            return npu.get_device_name(device)

    device_interface.register_interface_for_device("npu", NpuInterface)
    for index in range(npu.device_count()):
        device_interface.register_interface_for_device(f"npu:{index}", NpuInterface)


def register_device_contexts() -> None:
    """Registers `torch.npu.device` with Dynamo's context managers."""
    from torch._dynamo.variables import ctx_manager

    from torch_npu import npu
    from torch_npu._init.registry.dynamo_devices import NpuDeviceVariable

    for context in (npu.device, npu._DeviceGuard):
        # Where contrib.transfer_to_npu came first, Dynamo has met it as torch.cuda.device.
        ctx_manager._device_context_manager_map.pop(context, None)
        ctx_manager.register_device_context_manager(context, NpuDeviceVariable)


def register_random_states() -> None:
    """Registers `npu` with the operators that draw a recomputed random number a second time."""
    from torch._functorch._aot_autograd.utils import register_graphsafe_rng_device_type

    register_graphsafe_rng_device_type("npu")
