"""Random generators: seed, offset, state."""

from __future__ import annotations

import threading

import pytest
import torch

import torch_npu

DEFAULT_SEED = 67280421310721


@pytest.fixture
def generator():
    return torch.Generator(device="npu")


def draw(generator=None, count=64):
    return torch.rand(count, device="npu", generator=generator).cpu()


def test_a_new_generator_has_the_default_seed(generator):
    assert generator.device == torch.device("npu", 0)
    assert generator.initial_seed() == DEFAULT_SEED
    assert generator.get_offset() == 0


def test_the_device_index_is_kept():
    last = torch.npu.device_count() - 1
    assert torch.Generator(device=f"npu:{last}").device.index == last


def test_a_device_that_does_not_exist_is_named():
    count = torch.npu.device_count()
    with pytest.raises(RuntimeError, match=f"npu:{count} does not exist"):
        torch.Generator(device=f"npu:{count}")


def test_the_same_seed_gives_the_same_numbers(generator):
    generator.manual_seed(7)
    first = draw(generator)
    second = draw(generator)
    generator.manual_seed(7)
    assert torch.equal(draw(generator), first)
    assert torch.equal(draw(generator), second)
    assert not torch.equal(first, second)


def test_drawing_moves_the_offset(generator):
    generator.manual_seed(7)
    draw(generator)
    offset = generator.get_offset()
    assert offset > 0
    assert offset % 4 == 0
    draw(generator)
    assert generator.get_offset() > offset


def test_manual_seed_starts_the_sequence_again(generator):
    draw(generator)
    generator.manual_seed(3)
    assert generator.get_offset() == 0
    assert generator.initial_seed() == 3


def test_negative_seeds_wrap_as_elsewhere_in_pytorch(generator):
    generator.manual_seed(-1)
    assert generator.initial_seed() == 2**64 - 1


def test_seed_draws_a_new_seed(generator):
    assert generator.seed() != generator.seed()


def test_the_state_is_16_bytes_of_seed_and_offset(generator):
    generator.manual_seed(5)
    generator.set_offset(12)
    state = generator.get_state()
    assert state.dtype == torch.uint8
    assert state.device.type == "cpu"
    assert state.numel() == 16
    assert state.view(torch.int64).tolist() == [5, 12]


def test_a_state_can_be_restored(generator):
    generator.manual_seed(11)
    draw(generator)
    state = generator.get_state()
    expected = draw(generator)
    draw(generator)
    generator.set_state(state)
    assert torch.equal(draw(generator), expected)


def test_a_state_without_an_offset_means_its_start(generator):
    generator.set_offset(8)
    generator.set_state(torch.tensor([9], dtype=torch.int64).view(torch.uint8))
    assert (generator.initial_seed(), generator.get_offset()) == (9, 0)


@pytest.mark.parametrize("size", [0, 7, 15, 17, 5056])
def test_a_state_of_a_wrong_size_is_refused_and_changes_nothing(generator, size):
    generator.manual_seed(1)
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        generator.set_state(torch.zeros(size, dtype=torch.uint8))
    assert generator.initial_seed() == 1


def test_a_state_of_a_wrong_dtype_is_refused(generator):
    with pytest.raises(TypeError, match=r"torch\.ByteTensor"):
        generator.set_state(torch.zeros(2, dtype=torch.int64))


def test_an_offset_off_the_grid_is_refused(generator):
    with pytest.raises(RuntimeError, match="multiple of 4"):
        generator.set_offset(3)


def test_a_clone_goes_its_own_way(generator):
    generator.manual_seed(21)
    clone = generator.clone_state()
    expected = draw(generator)
    assert torch.equal(draw(clone), expected)
    clone.manual_seed(22)
    assert generator.initial_seed() == 21


def test_a_graphsafe_state_is_shared(generator):
    generator.manual_seed(30)
    other = torch.Generator(device="npu")
    other.graphsafe_set_state(generator.graphsafe_get_state())
    other.manual_seed(31)
    assert generator.initial_seed() == 31


def test_torch_manual_seed_seeds_every_device():
    torch.manual_seed(99)
    first = draw()
    torch.manual_seed(99)
    assert torch.equal(draw(), first)
    assert torch.npu.initial_seed() == 99
    for index in range(torch.npu.device_count()):
        assert torch.npu.get_rng_state(index).view(torch.int64)[0] == 99


def test_fork_rng_restores_the_state():
    torch.npu.manual_seed(4)
    expected = draw()
    torch.npu.manual_seed(4)
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        draw()
        torch.npu.manual_seed(5)
    assert torch.equal(draw(), expected)


def test_the_default_generator_is_one_object():
    first = torch_npu._C._npu_getDefaultGenerator(0)
    assert torch_npu._C._npu_getDefaultGenerator(0) is first
    assert torch_npu._C._npu_getDefaultGenerator(-1).device.index == torch.npu.current_device()


def test_a_generator_of_the_cpu_is_refused():
    with pytest.raises(RuntimeError, match=r"(?i)generator"):
        torch.rand(2, device="npu", generator=torch.Generator())


def test_threads_never_draw_the_same_numbers(generator):
    generator.manual_seed(50)
    results, lock = [], threading.Lock()

    def work():
        drawn = [tuple(draw(generator, 8).tolist()) for _ in range(20)]
        with lock:
            results.extend(drawn)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 80
