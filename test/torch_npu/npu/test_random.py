"""Random generators."""

from __future__ import annotations

import pytest
import torch

npu = torch.npu


def _draw() -> list[float]:
    return torch.rand(8, device="npu").tolist()


@pytest.mark.covers("torch_npu.npu.manual_seed", "torch_npu.npu.initial_seed")
def test_equal_seeds_give_equal_numbers() -> None:
    npu.manual_seed(7)
    first = _draw()
    second = _draw()
    npu.manual_seed(7)
    assert _draw() == first
    assert first != second
    assert npu.initial_seed() == 7


def test_torch_manual_seed_seeds_npu() -> None:
    torch.manual_seed(11)
    first = _draw()
    torch.manual_seed(11)
    assert _draw() == first
    assert npu.initial_seed() == 11


@pytest.mark.covers("torch_npu.npu.manual_seed_all")
def test_manual_seed_all_seeds_every_device() -> None:
    npu.manual_seed_all(5)
    assert [one.initial_seed() for one in npu.default_generators] == [5] * npu.device_count()


@pytest.mark.covers("torch_npu.npu.get_rng_state", "torch_npu.npu.set_rng_state")
def test_state_continues_where_it_was_taken() -> None:
    npu.manual_seed(3)
    _draw()
    state = npu.get_rng_state()
    assert state.dtype == torch.uint8
    assert state.device.type == "cpu"
    expected = _draw()
    _draw()
    npu.set_rng_state(state)
    assert _draw() == expected
    npu.set_rng_state(state, "npu:0")
    assert _draw() == expected


@pytest.mark.covers("torch_npu.npu.get_rng_state_all", "torch_npu.npu.set_rng_state_all")
def test_states_of_all_devices() -> None:
    states = npu.get_rng_state_all()
    assert len(states) == npu.device_count()
    expected = _draw()
    npu.set_rng_state_all(states)
    assert _draw() == expected


@pytest.mark.covers("torch_npu.npu.seed", "torch_npu.npu.seed_all")
def test_seed_is_random_and_seed_all_is_common() -> None:
    npu.seed()
    first = npu.initial_seed()
    npu.seed()
    assert npu.initial_seed() != first
    npu.seed_all()
    assert len({one.initial_seed() for one in npu.default_generators}) == 1


def test_state_set_before_initialisation_is_copied_at_the_call(run_python) -> None:
    npu.manual_seed(4)
    state = npu.get_rng_state().tolist()
    expected = _draw()
    code = f"""
import torch, torch_npu
state = torch.tensor({state}, dtype=torch.uint8)
torch.npu.set_rng_state(state)
state.zero_()
assert not torch.npu.is_initialized()
print(torch.rand(8, device="npu").tolist())
"""
    result = run_python(code)
    assert result.stdout.strip() == str(expected), result.stderr


def test_index_without_a_device_is_refused() -> None:
    npu.init()
    with pytest.raises(RuntimeError, match="Invalid device id 99"):
        npu.get_rng_state(99)


def test_fork_rng_restores_the_state() -> None:
    npu.manual_seed(2)
    expected = _draw()
    npu.manual_seed(2)
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        _draw()
        npu.manual_seed(99)
    assert _draw() == expected
