"""Saving in the background, and loading."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from typing import IO, Any

import torch

from torch_npu import npu


def save_async(
    obj: object,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
    model: torch.nn.Module | None = None,
) -> threading.Thread:
    """`torch.save` of what `obj` holds now, in a thread of its own. Returns at once.

    The tensors are copied on their device first, in the current stream, so that the program may
    change them right away; each gets memory of its own. `model` need not be given. The program
    waits for the thread before it ends. Returns the thread, whose `join()` waits for the file. An
    error of the thread is reported as Python reports those of threads.

    Raises `RuntimeError` for the old format and for tensors that cannot be copied, which are those
    that a computation with gradients made.
    """
    if not _use_new_zipfile_serialization:
        raise RuntimeError(
            "save_async() writes the zip format only: use torch.save() for the other"
        )
    frozen = copy.deepcopy(obj)
    copied = npu.current_stream().record_event()
    device = npu.current_device()

    def write() -> None:
        npu.set_device(device)
        npu.current_stream().wait_event(copied)
        torch.save(
            frozen,
            f,
            pickle_module=pickle_module,
            pickle_protocol=pickle_protocol,
            _disable_byteorder_record=_disable_byteorder_record,
        )

    thread = threading.Thread(target=write, name="torch_npu.utils.save_async")
    thread.start()
    return thread


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """`torch.load`, which finds `npu` tensors by itself: those of npu:1 go to npu:1 again."""
    return torch.load(
        f, map_location, pickle_module, weights_only=weights_only, mmap=mmap, **pickle_load_args
    )
