"""Counting operations, choosing cores, saving in the background, building extensions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import setuptools
import torch

import torch_npu
from torch_npu import utils
from torch_npu.utils import cpp_extension, serialization


@pytest.mark.covers(
    "torch_npu.utils.FlopsCounter",
    "torch_npu.utils.FlopsCounter.start",
    "torch_npu.utils.FlopsCounter.stop",
    "torch_npu.utils.FlopsCounter.pause",
    "torch_npu.utils.FlopsCounter.resume",
    "torch_npu.utils.FlopsCounter.get_flops",
)
def test_matrix_products_are_counted_while_not_paused() -> None:
    a, b = torch.ones(3, 4, device="npu"), torch.ones(4, 5, device="npu")
    counter = utils.FlopsCounter()
    with pytest.raises(RuntimeError, match="start"):
        counter.resume()
    counter.start()
    a @ b
    assert counter.get_flops() == [120, 120]
    counter.pause()
    a @ b
    assert counter.get_flops() == [120, 120]
    counter.resume()
    a @ b
    assert counter.get_flops() == [240, 240]
    counter.stop()
    a @ b
    assert counter.get_flops() == [0, 0]
    with utils.FlopsCounter() as within:
        a @ b
    assert within.get_flops() == [120, 120]


@pytest.mark.covers("torch_npu.utils.set_thread_affinity", "torch_npu.utils.reset_thread_affinity")
def test_thread_runs_on_the_chosen_cores() -> None:
    allowed = os.sched_getaffinity(0)
    core = min(allowed)
    try:
        utils.set_thread_affinity([core, core])
        assert os.sched_getaffinity(0) == {core}
        utils.set_thread_affinity([[0, max(allowed)], [core, core]])
        assert os.sched_getaffinity(0) == allowed
        utils.set_thread_affinity([core, core])
    finally:
        utils.reset_thread_affinity()
    assert os.sched_getaffinity(0) == allowed
    for wrong in ([3, 1], [-1, 2], [], [0], "01", [[0, 1, 2]]):
        with pytest.raises(ValueError, match="core_range"):
            utils.set_thread_affinity(wrong)


@pytest.mark.covers("torch_npu.utils.save_async", "torch_npu.utils.serialization.load")
def test_saved_is_what_was_there_at_the_call(tmp_path: Path) -> None:
    weight = torch.nn.Parameter(torch.arange(6.0, device="npu").view(2, 3))
    state = {"weight": weight, "row": weight.detach()[1], "step": 3}
    path = tmp_path / "state.pt"
    thread = utils.save_async(state, path)
    weight.data.fill_(-1)
    thread.join(timeout=60)
    loaded = serialization.load(path)
    assert loaded["weight"].device == weight.device
    assert loaded["weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert loaded["step"] == 3
    assert loaded["row"].tolist() == [3, 4, 5]
    assert serialization.load(path, map_location="cpu")["row"].device.type == "cpu"
    with pytest.raises(RuntimeError, match=r"torch\.save"):
        utils.save_async(state, path, _use_new_zipfile_serialization=False)


@pytest.mark.covers("torch_npu.utils.cpp_extension.NpuExtension")
def test_extension_finds_headers_and_libraries() -> None:
    made = cpp_extension.NpuExtension("mine", ["mine.cpp"], include_dirs=["here"], libraries=["m"])
    assert isinstance(made, setuptools.Extension)
    assert made.include_dirs[0] == "here"
    found = [Path(folder) for folder in made.include_dirs]
    assert any(folder.joinpath("acl/acl.h").is_file() for folder in found)
    assert any(folder.joinpath("torch/csrc/Device.h").is_file() for folder in found)
    assert any(folder.joinpath("torch_npu/csrc/core/npu_stream.h").is_file() for folder in found)
    library = Path(torch_npu.__file__).parent / "lib"
    assert str(library) in made.library_dirs
    assert library.joinpath("libtorch_npu.so").is_file()
    assert {"m", "torch_npu", "torch_python"} <= set(made.libraries)
    assert made.language == "c++"


def test_missing_utility_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'no_such_function'"):
        utils.no_such_function  # noqa: B018
