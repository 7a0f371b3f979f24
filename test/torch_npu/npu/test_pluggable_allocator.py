"""Allocators from a library: pools on them, and the stand-in for the caching allocator."""

from __future__ import annotations

import ctypes
import gc
import pathlib
import pickle
import subprocess
from collections.abc import Iterator

import pytest
import torch

import softcann
import torch_npu

npu = torch.npu
MIB = 1 << 20

SOURCE = r"""
#include <sys/types.h>
#include <stdexcept>
#include "acl/acl.h"
static long allocated = 0, freed = 0;
extern "C" void *my_malloc(ssize_t size, int, aclrtStream) {
  void *p = nullptr;
  if (aclrtMalloc(&p, (size_t)size, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
  allocated += size;
  return p;
}
extern "C" void my_free(void *p, ssize_t size, int, aclrtStream) { aclrtFree(p); freed += size; }
extern "C" void *no_memory(ssize_t, int, aclrtStream) { return nullptr; }
extern "C" void *throws(ssize_t, int, aclrtStream) { throw std::runtime_error("no such luck"); }
extern "C" long my_allocated() { return allocated; }
extern "C" long my_freed() { return freed; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("allocator")
    kit = pathlib.Path(softcann.__file__).parent / "toolkit"
    (folder / "a.cpp").write_text(SOURCE)
    path = str(folder / "a.so")
    command = f"g++ -std=c++17 -fPIC -shared -I {kit}/include {folder}/a.cpp -L {kit}/lib64"
    subprocess.run([*command.split(), "-lascendcl", "-o", path], check=True)
    return path


@pytest.fixture
def counts(library: str) -> Iterator[ctypes.CDLL]:
    npu.device_count()  # binds the CANN that the library is linked with
    functions = ctypes.CDLL(library)
    functions.my_allocated.restype = functions.my_freed.restype = ctypes.c_long
    return functions


def test_pools_memory_comes_from_the_library_and_goes_back(
    library: str, counts: ctypes.CDLL
) -> None:
    before, freed_before = counts.my_allocated(), counts.my_freed()
    allocator = npu.memory.NPUPluggableAllocator(library, "my_malloc", "my_free")
    pool = npu.MemPool(allocator.allocator())
    with npu.use_mem_pool(pool):
        inside = torch.full((8 * MIB,), 3, dtype=torch.uint8, device="npu")
    size = counts.my_allocated() - before
    assert size >= 8 * MIB
    outside = torch.ones(64 * MIB, dtype=torch.uint8, device="npu")
    assert counts.my_allocated() - before == size
    assert (inside.unique().tolist(), outside.unique().tolist()) == ([3], [1])
    # The pool ends while a tensor lives; its memory stays until that ends too.
    del pool, allocator
    gc.collect()
    assert inside.unique().tolist() == [3]
    assert counts.my_freed() == freed_before
    del inside
    npu.empty_cache()
    assert counts.my_freed() - freed_before == size


def test_library_and_functions_that_are_not_there_are_named(library: str) -> None:
    with pytest.raises(RuntimeError, match=r"no_such_library\.so"):
        npu.memory.NPUPluggableAllocator("no_such_library.so", "my_malloc", "my_free")
    with pytest.raises(RuntimeError, match="'absent_malloc'"):
        npu.memory.NPUPluggableAllocator(library, "absent_malloc", "my_free")
    with pytest.raises(RuntimeError, match="'absent_free'"):
        npu.memory.NPUPluggableAllocator(library, "my_malloc", "absent_free")


@pytest.mark.filterwarnings("ignore:the allocation function")
@pytest.mark.parametrize("function", ["no_memory", "throws"])
def test_function_without_memory_is_out_of_memory(library: str, function: str) -> None:
    allocator = npu.memory.NPUPluggableAllocator(library, function, "my_free")
    with (
        npu.use_mem_pool(npu.MemPool(allocator.allocator())),
        pytest.raises(torch.OutOfMemoryError),
    ):
        torch.empty(MIB, device="npu")
    assert torch.ones(3, device="npu").sum().item() == 3


def test_other_objects_are_no_allocators() -> None:
    with pytest.raises(TypeError, match="object"):
        npu.MemPool(allocator=object())
    with pytest.raises(TypeError, match="NoneType"):
        npu.change_current_allocator(None)


def test_allocator_in_use_cannot_be_exchanged(library: str) -> None:
    allocator = npu.memory.NPUPluggableAllocator(library, "my_malloc", "my_free")
    torch.ones(1, device="npu")
    with pytest.raises(RuntimeError, match="already initialized"):
        npu.memory.change_current_allocator(allocator)


def test_stand_in_serves_every_tensor(library: str, run_python) -> None:
    code = f"""
import ctypes, torch, torch_npu
allocator = torch.npu.memory.NPUPluggableAllocator({library!r}, "my_malloc", "my_free")
torch.npu.memory.change_current_allocator(allocator)
counts = ctypes.CDLL({library!r})
x = torch.ones(1000, dtype=torch.uint8, device="npu")
print(counts.my_allocated() >= 1000, x.sum().item(), torch.npu.get_allocator_backend())
before = counts.my_freed()
torch.npu.synchronize()
del x
print(counts.my_freed() - before)
"""
    result = run_python(code)
    assert result.stdout == "True 1000 pluggable\n1000\n", result.stderr
    assert result.returncode == 0, result.stderr


def test_observer_sees_each_allocation_that_fails() -> None:
    seen: list[tuple[int, ...]] = []
    torch_npu._C._npu_attach_out_of_memory_observer(lambda *a: seen.append(a))
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 44, dtype=torch.uint8, device="npu")
    [(device, requested, total, free)] = seen
    assert (device, requested) == (npu.current_device(), 1 << 44)
    assert 0 <= free <= total < 1 << 44
    with pytest.raises(TypeError, match="callable"):
        torch_npu._C._npu_attach_out_of_memory_observer(3)


def test_snapshot_is_written_when_memory_runs_out(run_python, tmp_path: pathlib.Path) -> None:
    code = f"""
import os
os.environ.update(OOM_SNAPSHOT_ENABLE="1", OOM_SNAPSHOT_PATH={str(tmp_path)!r})
import torch, torch_npu
kept = torch.ones(1000, device="npu")
try:
    torch.empty(1 << 44, dtype=torch.uint8, device="npu")
except torch.OutOfMemoryError:
    print("raised")
"""
    result = run_python(code)
    assert result.stdout == "raised\n", result.stderr
    [file] = tmp_path.glob("oom_snapshot_*.pickle")
    snapshot = pickle.loads(file.read_bytes())
    actions = [entry["action"] for trace in snapshot["device_traces"] for entry in trace]
    assert {"alloc", "oom"} <= set(actions)


@pytest.mark.parametrize(
    ("name", "value"), [("OOM_SNAPSHOT_ENABLE", "yes"), ("OOM_SNAPSHOT_PATH", "no/such/folder")]
)
def test_nonsense_about_snapshots_is_named(run_python, name: str, value: str) -> None:
    code = f"""
import os
os.environ.update({{"OOM_SNAPSHOT_ENABLE": "1", {name!r}: {value!r}}})
import torch, torch_npu
"""
    result = run_python(code)
    assert result.returncode != 0
    assert name in result.stderr
    assert repr(value) in result.stderr
