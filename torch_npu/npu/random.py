"""Random generators. Seeding before the first use of a device waits for it."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from torch_npu.npu import lazy
from torch_npu.npu._utils import _get_device_index
from torch_npu.npu.devices import current_device
from torch_npu.npu.lazy import _lazy_call, _lazy_init, device_count


def _generator(index: int) -> torch.Generator:
    generators = lazy.default_generators()
    if not 0 <= index < len(generators):
        raise RuntimeError(f"Invalid device id {index}: there are {len(generators)} npu devices")
    return generators[index]


def _get_generator(device: torch.device) -> torch.Generator:
    """The default generator of a device; PyTorch's compiler asks for it by this name."""
    _lazy_init()
    return _generator(_get_device_index(device, optional=True))


def get_rng_state(device: int | str | torch.device = "npu") -> torch.Tensor:
    """The state of a device's generator, a CPU tensor of bytes. Initialises the backend."""
    _lazy_init()
    return _generator(_get_device_index(device, optional=True)).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices' generators."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: torch.Tensor, device: int | str | torch.device = "npu") -> None:
    """Sets the state of a device's generator to what `get_rng_state` gave."""
    # The caller may write to its tensor before the call runs.
    state = new_state if lazy.is_initialized() else new_state.clone()

    def apply() -> None:
        _generator(_get_device_index(device, optional=True)).set_state(state)

    _lazy_call(apply)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets the states of all devices' generators, in the order of devices."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the generator of the current device. Does nothing where there is no device."""
    seed = int(seed)
    _lazy_call(lambda: _seed_current(seed), seed=True)


def _seed_current(seed: int) -> None:
    _generator(current_device()).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices. Does nothing where there is no device."""
    seed = int(seed)

    def apply() -> None:
        for index in range(device_count()):
            _generator(index).manual_seed(seed)

    _lazy_call(apply, seed_all=True)


def seed() -> None:
    """Seeds the generator of the current device with a random number."""

    def apply() -> None:
        _generator(current_device()).seed()

    _lazy_call(apply, seed=True)


def seed_all() -> None:
    """Seeds the generators of all devices with one random number."""

    def apply() -> None:
        common: int | None = None
        for index in range(device_count()):
            if common is None:
                common = _generator(index).seed()
            else:
                _generator(index).manual_seed(common)

    _lazy_call(apply, seed_all=True)


def initial_seed() -> int:
    """The seed of the current device's generator. Initialises the backend."""
    _lazy_init()
    return _generator(current_device()).initial_seed()
