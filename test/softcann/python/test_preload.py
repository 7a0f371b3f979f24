"""A preloaded library that stands in for one of the runtime's functions, as profilers do it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import softcann

HOOK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int calls;

int aclrtMalloc(void** pointer, size_t size, int policy) {
  int (*next)(void**, size_t, int) = dlsym(RTLD_NEXT, "aclrtMalloc");
  ++calls;
  return next == NULL ? -1 : next(pointer, size, policy);
}
"""

PROGRAM = """
import ctypes, sys
acl = ctypes.CDLL(sys.argv[1])  # for this module only, as Python loads an extension
hook = ctypes.CDLL(sys.argv[2])
assert acl.aclInit(None) == 0
assert acl.aclrtSetDevice(0) == 0
memory = ctypes.c_void_p()
code = hook.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(64), 0)
assert code == 0, code
assert memory.value
assert ctypes.c_int.in_dll(hook, "calls").value == 1
"""


def test_a_preloaded_function_finds_the_runtime_s_own(tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler")
    source, hook = tmp_path / "hook.c", tmp_path / "libhook.so"
    source.write_text(HOOK)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", hook, source, "-ldl"], check=True)
    library = softcann.toolkit_path() / "lib64" / "libascendcl.so"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(library), str(hook)],
        env={**softcann.environment(), "LD_PRELOAD": str(hook)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
