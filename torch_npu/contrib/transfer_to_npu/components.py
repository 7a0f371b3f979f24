"""What stands on tensors: mixed precision, files, collectives, data loading, the profiler."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from torch_npu._init.core.import_hooks import when_imported
from torch_npu._init.patches.patch_manager import PatchManager
from torch_npu.contrib.transfer_to_npu.renaming import (
    GROUP,
    rename_arguments,
    renaming,
    replace_everywhere,
    to_npu,
)


@PatchManager.register_patch(GROUP)
def mixed_precision() -> None:
    """`torch.autocast("cuda")`, `torch.amp.GradScaler("cuda")` and the decorators."""
    rename_arguments(torch.amp.autocast, "__init__")
    scaler = torch.amp.GradScaler
    native = scaler.__init__

    @functools.wraps(native)
    def init(self: Any, device: str = "npu", *arguments: Any, **options: Any) -> None:
        native(self, to_npu(device), *arguments, **options)

    scaler.__init__ = init  # type: ignore[method-assign]
    from torch.amp import autocast_mode

    for name in ("custom_bwd", "custom_fwd"):
        replace_everywhere((torch.amp, autocast_mode), name, renaming(getattr(torch.amp, name)))


@PatchManager.register_patch(GROUP)
def files() -> None:
    """`torch.load` and `torch.jit.load`, and tensors that were saved from `cuda`."""
    torch.load = _mapping_locations(torch.load)
    torch.jit.load = _mapping_locations(torch.jit.load)
    # Before PyTorch's own of cuda, which is 20.
    torch.serialization.register_package(15, lambda storage: None, _restore_on_npu)


def _restore_on_npu(storage: Any, location: str) -> Any:
    """The storage on `npu` if the file says that it was on `cuda`; otherwise it is not ours."""
    if location.partition(":")[0] != "cuda":
        return None
    return torch.serialization.default_restore_location(storage, to_npu(location))


def _mapping_locations(load: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    def renamed(f: Any, map_location: Any = None, *arguments: Any, **options: Any) -> Any:
        if isinstance(map_location, dict):
            # A file written on npu knows no cuda.
            map_location = {
                key: to_npu(device)
                for place, device in map_location.items()
                for key in (place, to_npu(place))
            }
        return load(f, to_npu(map_location), *arguments, **options)

    return renamed


@PatchManager.register_patch(GROUP)
def collectives() -> None:
    """The backend "nccl", also as part of "cpu:gloo,cuda:nccl", and meshes of devices."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d

    modules = (torch.distributed, distributed_c10d)
    for name in ("init_process_group", "new_group", "new_subgroups", "split_group"):
        if hasattr(distributed_c10d, name):
            new = _renaming_backend(getattr(distributed_c10d, name))
            replace_everywhere(modules, name, new)
    replace_everywhere(modules, "is_nccl_available", _is_hccl_available)
    when_imported("torch.distributed.device_mesh", _rename_meshes)


def _renaming_backend(function: Callable[..., Any]) -> Callable[..., Any]:
    def rename(value: Any) -> Any:
        if not isinstance(value, str):
            return to_npu(value)
        parts = (part.split(":") for part in value.split(","))
        return ",".join(
            ":".join({"nccl": "hccl", "cuda": "npu"}.get(word, word) for word in part)
            for part in parts
        )

    @functools.wraps(function)
    def renamed(*arguments: Any, **options: Any) -> Any:
        for name in ("backend", "device_id"):
            if name in options:
                options[name] = rename(options[name])
        # Only init_process_group takes the backend first.
        if arguments and isinstance(arguments[0], str):
            arguments = (rename(arguments[0]), *arguments[1:])
        return function(*arguments, **options)

    return renamed


def _is_hccl_available() -> bool:
    """Whether the backend that stands for "nccl" is there."""
    return "hccl" in torch.distributed.Backend.backend_list


def _rename_meshes() -> None:
    from torch.distributed import device_mesh

    rename_arguments(device_mesh.DeviceMesh, "__init__")
    new = renaming(device_mesh.init_device_mesh)
    replace_everywhere((torch.distributed, device_mesh), "init_device_mesh", new)


@PatchManager.register_patch(GROUP)
def data_loading() -> None:
    """`DataLoader(pin_memory_device="cuda")`."""
    rename_arguments(torch.utils.data.DataLoader, "__init__")


@PatchManager.register_patch(GROUP)
def profiler() -> None:
    """`ProfilerActivity.CUDA` means the activity of `npu`, wherever a profiler is made with it."""
    when_imported("torch.profiler.profiler", _rename_activities)


def _rename_activities() -> None:
    module = sys.modules["torch.profiler.profiler"]
    activity: Any = torch.profiler.ProfilerActivity
    kineto: Any = module._KinetoProfile
    native = kineto.__init__

    @functools.wraps(native)
    def init(self: Any, *, activities: Any = None, **options: Any) -> None:
        if activities is not None:
            swap = {activity.CUDA: activity.PrivateUse1}
            activities = [swap.get(each, each) for each in activities]
        native(self, activities=activities, **options)

    kineto.__init__ = init
