"""Streams and events, with the interface of `torch.cuda`'s."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Self

import torch

from torch_npu import _C
from torch_npu.npu._utils import _get_device_index, _unavailable
from torch_npu.npu.devices import Device, device
from torch_npu.npu.lazy import _lazy_init


class Stream(_C._NPUStreamBase):
    """A queue of work on one device: in order within itself, independent of other streams.

    Args:
        device: where to make it; the current device by default.
        priority: a lower number is a higher priority; outside the device's range it is clamped.
    """

    def __new__(cls, device: Device = None, priority: int = 0, **kwargs: Any) -> Self:
        _lazy_init()
        if device is None or {"stream_id", "device_index"} <= kwargs.keys():
            return super().__new__(cls, priority=priority, **kwargs)
        with _on(device):
            return super().__new__(cls, priority=priority, **kwargs)

    def wait_event(self, event: Event | torch.Event) -> None:
        """Makes work submitted from now on wait for `event`. Returns at once."""
        event.wait(self)

    def wait_stream(self, stream: Stream | torch.Stream) -> None:
        """Makes work submitted from now on wait for what `stream` has now. Returns at once."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | torch.Event | None = None) -> Event | torch.Event:
        """Records `event`, or a new one, after the work submitted so far, and returns it."""
        if event is None:
            event = Event()
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work submitted so far is done."""
        return super().query()

    def synchronize(self) -> None:
        """Waits for all work submitted so far. Raises the error of work that failed."""
        super().synchronize()

    def set_data_preprocess_stream(self, is_data_preprocess_stream: bool = False) -> None:
        """Reserves the stream for data preprocessing, which no kernel here distinguishes."""
        if is_data_preprocess_stream:
            raise _unavailable(
                "A data preprocessing stream", "An ordinary torch.npu.Stream() serves."
            )

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.npu_stream)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and super().__eq__(other)

    def __hash__(self) -> int:
        return hash((self.npu_stream, self.device))

    def __repr__(self) -> str:
        return f"<torch.npu.Stream device={self.device} npu_stream={self.npu_stream:#x}>"


class SyncLaunchStream(Stream):
    """A stream whose work is handed to CANN in the calling thread, with no queue before it.

    Every stream here works so; the class is for programs that ask for it by name. To wait for each
    operator besides, set ASCEND_LAUNCH_BLOCKING=1.
    """


class ExternalStream(Stream):
    """A stream that another library made and keeps alive.

    Args:
        stream_ptr: its `aclrtStream`, as an integer.
        device: the device on which it was made; the current device by default.
    """

    def __new__(cls, stream_ptr: int, device: Device = None, **kwargs: Any) -> Self:
        return super().__new__(cls, device=device, stream_ptr=stream_ptr, **kwargs)


class _Handle:
    """What an event with a handle has in common, in front of the class of the extension module."""

    if TYPE_CHECKING:

        @property
        def npu_event(self) -> int: ...

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.npu_event)

    def __repr__(self) -> str:
        handle = f"{self.npu_event:#x}" if self.npu_event else "uninitialized"
        return f"<torch.npu.{type(self).__name__} {handle}>"


class Event(_Handle, _C._NPUEventBase):
    """A mark in a stream: to wait for, to ask about, and to measure time with.

    Args:
        enable_timing: whether `elapsed_time` can be asked for.
        blocking: whether `synchronize` sleeps instead of spinning.
        interprocess: whether the event can be shared with other processes, on the device that is
            current now. Such an event keeps no time.
        external: whether a captured graph waits for and records the event itself.
    """

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> Self:
        return super().__new__(
            cls,
            enable_timing=enable_timing,
            blocking=blocking,
            interprocess=interprocess,
            external=external,
        )

    @classmethod
    def from_ipc_handle(  # type: ignore[override]
        cls, device: torch.device, handle: bytes
    ) -> Self:
        """The event of another process whose `ipc_handle()` is `handle`, for work on `device`.

        Raises `RuntimeError`, which names the handle, where it is wrong or its process has ended.
        """
        return super().from_ipc_handle(_get_device_index(device, optional=True), handle)

    def record(self, stream: Stream | torch.Stream | None = None) -> None:
        """Records the event in `stream`, the current one by default, of the event's device."""
        super().record(current_stream() if stream is None else stream)

    def wait(self, stream: Stream | torch.Stream | None = None) -> None:
        """Makes work submitted to `stream`, the current one by default, wait for the event."""
        super().wait(current_stream() if stream is None else stream)

    def query(self) -> bool:
        """Whether all work before the event is done; true for an event never recorded."""
        return super().query()

    def elapsed_time(self, end_event: torch.Event) -> float:
        """The milliseconds between this event and `end_event`; waits for both.

        Raises `ValueError` where one lacks `enable_timing` or was never recorded. A `torch.Event`
        does not wait: PyTorch itself refuses one that has not completed.
        """
        return super().elapsed_time(end_event)

    def recorded_time(self) -> int:
        """When the event completed, in microseconds of the device's clock; waits for it.

        Raises `ValueError` for an event without `enable_timing` or one that was never recorded.
        """
        return super().recorded_time()

    def synchronize(self) -> None:
        """Waits for the work before the event."""
        super().synchronize()

    def ipc_handle(self) -> bytes:
        """A handle by which another process can open the event, which needs `interprocess=True`."""
        return super().ipc_handle()


class ExternalEvent(_Handle, _C._NPUExternalEventBase):
    """A flag that streams set, wait for and clear; it may be waited for before it is recorded.

    Unlike an `Event`, whose wait covers the records made before it, a wait for this one lasts until
    the flag is set, whenever that is: where nothing records, the stream waits for ever, and so do
    those who wait for the stream until a signal, such as that of Ctrl-C, ends their wait. The flag
    stays set until it is reset. The first use ties it to its
    stream's device; a stream of another raises `RuntimeError`.
    """

    def __init__(self) -> None:
        _lazy_init()
        super().__init__()

    def record(self, stream: Stream | torch.Stream | None = None) -> None:
        """Sets the flag after the work that `stream`, the current one by default, has now."""
        super().record(current_stream() if stream is None else stream)

    def wait(self, stream: Stream | torch.Stream | None = None) -> None:
        """Makes work submitted to `stream`, the current one by default, wait until it is set."""
        super().wait(current_stream() if stream is None else stream)

    def reset(self, stream: Stream | torch.Stream | None = None) -> None:
        """Clears the flag after the work that `stream`, the current one by default, has now."""
        super().reset(current_stream() if stream is None else stream)


class StreamContext:
    """A context manager that selects a stream and its device; `None` selects nothing."""

    def __init__(self, stream: Stream | torch.Stream | None) -> None:
        self.stream = stream
        self._previous: list[Stream] = []

    def __enter__(self) -> None:
        if self.stream is None:
            return
        before = current_stream()
        self._previous.append(before)
        # The stream to restore on the other device differs from the one that is current now.
        if before.device != self.stream.device:
            self._previous.append(current_stream(self.stream.device))
        set_stream(self.stream)

    def __exit__(self, *_error: Any) -> None:
        while self._previous:
            set_stream(self._previous.pop())


def stream(stream: Stream | torch.Stream | None) -> StreamContext:
    """A context manager that selects `stream` and its device; `None` selects nothing."""
    return StreamContext(stream)


def set_stream(stream: Stream | torch.Stream | None) -> None:
    """Selects `stream` and its device for this thread; prefer the context manager `stream`."""
    if stream is not None:
        _set_stream_by_id(stream.stream_id, stream.device_index, stream.device_type)


def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
    """Selects the stream that these three numbers identify; dynamo calls it by this name."""
    _C._npu_setStream(stream_id=stream_id, device_index=device_index, device_type=device_type)


def current_stream(device: Device = None) -> Stream:
    """The stream that this thread submits to on `device`, the current one by default."""
    _lazy_init()
    return _stream(_C._npu_getCurrentStream(_index(device)))


def default_stream(device: Device = None) -> Stream:
    """The stream of `device` that is current unless another is selected."""
    _lazy_init()
    return _stream(_C._npu_getDefaultStream(_index(device)))


def _index(device: Device) -> int:
    """As the backend takes it: -1 is the current device."""
    return -1 if device is None else _get_device_index(device, optional=True)


def _stream(packed: tuple[int, int, int]) -> Stream:
    stream_id, device_index, device_type = packed
    return Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)


def _on(selected: Device) -> device:
    return device(selected)
