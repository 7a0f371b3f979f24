"""pyACL, in a process of its own that `softcann run` starts."""

from __future__ import annotations

import subprocess
import sys

import softcann

TO_DEVICE, TO_HOST, HUGE_FIRST, HBM = 1, 2, 0, 1


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "softcann.command", "run", "--", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_bytes_travel_to_the_device_and_back() -> None:
    program = f"""
import acl
assert acl.init() == 0 and acl.rt.set_device(1) == 0
assert acl.rt.get_device() == (1, 0)
data = bytes(range(200))
address, code = acl.rt.malloc(200, {HUGE_FIRST})
assert code == 0 and address
assert acl.rt.memcpy(address, 200, acl.util.bytes_to_ptr(data), 200, {TO_DEVICE}) == 0
assert acl.rt.memset(address, 200, 7, 3) == 0
host, code = acl.rt.malloc_host(200)
stream, code = acl.rt.create_stream()
assert acl.rt.memcpy_async(host, 200, address, 200, {TO_HOST}, stream) == 0
assert acl.rt.synchronize_stream(stream) == 0
assert acl.util.ptr_to_bytes(host, 200) == bytes([7, 7, 7]) + data[3:]
assert acl.rt.destroy_stream(stream) == acl.rt.free(address) == acl.rt.free_host(host) == 0
print(acl.get_soc_name(), acl.rt.reset_device(1), acl.finalize())
"""
    name, *codes = run(program).split()
    assert name.startswith("Ascend910B")
    assert codes == ["0", "0"]


def test_results_come_before_the_code() -> None:
    program = f"""
import acl
acl.init()
acl.rt.set_device(0)
count, code = acl.rt.get_device_count()
free, total, memory_code = acl.rt.get_mem_info({HBM})
context, context_code = acl.rt.get_context()
print(count, code, memory_code, 0 < free <= total, context > 0, context_code)
"""
    assert run(program) == "8 0 0 True True 0"


def test_a_failed_call_returns_its_code_and_leaves_its_message() -> None:
    program = """
import acl
acl.init()
print(acl.rt.set_device(99) != 0, "99" in acl.get_recent_err_msg(), acl.rt.get_context()[0])
"""
    assert run(program) == "True True 0"


def test_what_is_not_there_is_named() -> None:
    program = """
import acl
for name in ("mdl", "rt.subscribe_report", "util.vector_to_ptr"):
    owner = acl
    try:
        for part in name.split("."):
            owner = getattr(owner, part)
    except AttributeError as error:
        print("acl." + name in str(error))
try:
    acl.rt.free()
except TypeError as error:
    print(error)
"""
    assert run(program).splitlines() == ["True"] * 3 + ["aclrtFree takes 1 arguments, but got 0"]


def test_the_package_lies_in_the_toolkit() -> None:
    home = softcann.toolkit_path()
    assert run("import acl; print(acl.__file__)") == str(
        home / "python" / "site-packages" / "acl" / "__init__.py"
    )
