"""The single-operator interface, called as a C program calls it."""

from __future__ import annotations

import subprocess
import sys

import softcann

# A process of its own: it loads the runtime beside whatever the test process has loaded.
PROGRAM = """
import ctypes, sys
libraries = sys.argv[1]
acl = ctypes.CDLL(libraries + "/libascendcl.so", ctypes.RTLD_GLOBAL)
compiler = ctypes.CDLL(libraries + "/libacl_op_compiler.so")
for function in (acl.aclCreateTensorDesc, acl.aclCreateDataBuffer, acl.aclopCreateAttr):
    function.restype = ctypes.c_void_p
acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
acl.aclInit(None)
acl.aclrtSetDevice(0)

def on_device(values):
    memory = ctypes.c_void_p()
    size = ctypes.sizeof(values)
    assert acl.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(size), 0) == 0
    assert acl.aclrtMemcpy(memory, ctypes.c_size_t(size), values, ctypes.c_size_t(size), 1) == 0
    dims = (ctypes.c_int64 * 1)(len(values))
    desc = ctypes.c_void_p(acl.aclCreateTensorDesc(0, 1, dims, 2))
    return memory, desc, ctypes.c_void_p(acl.aclCreateDataBuffer(memory, ctypes.c_size_t(size)))

def execute(name, source, target):
    array = ctypes.c_void_p * 1
    attributes = ctypes.c_void_p(acl.aclopCreateAttr())
    return compiler.aclopCompileAndExecute(
        name, 1, array(source[1]), array(source[2]), 1, array(target[1]), array(target[2]),
        attributes, 0, 0, None, None)

source = on_device((ctypes.c_float * 4)(1, 2, 3, 4))
target = on_device((ctypes.c_float * 4)())
assert execute(b"Identity", source, target) == 0, acl.aclGetRecentErrMsg()
acl.aclrtSynchronizeDevice()
result = (ctypes.c_float * 4)()
acl.aclrtMemcpy(result, ctypes.c_size_t(16), target[0], ctypes.c_size_t(16), 2)
assert list(result) == [1, 2, 3, 4], list(result)

assert execute(b"NoSuchOperator", source, target) == 100024
assert b"NoSuchOperator" in acl.aclGetRecentErrMsg()

# The number of elements that are not zero is known when the operator has run.
masked = on_device((ctypes.c_float * 4)(0, 7, 0, 9))
found = on_device((ctypes.c_int64 * 4)())
dims = (ctypes.c_int64 * 2)(4, 1)
found = (found[0], ctypes.c_void_p(acl.aclCreateTensorDesc(9, 2, dims, 2)), found[2])
array = ctypes.c_void_p * 1
attributes = ctypes.c_void_p(acl.aclopCreateAttr())
assert compiler.aclopCompileAndExecuteV2(
    b"NonZero", 1, array(masked[1]), array(masked[2]), 1, array(found[1]), array(found[2]),
    attributes, 0, 0, None, None) == 0, acl.aclGetRecentErrMsg()
acl.aclGetTensorDescDim.restype = ctypes.c_int64
sizes = [acl.aclGetTensorDescDim(found[1], ctypes.c_size_t(i)) for i in range(2)]
assert sizes == [2, 1], sizes
positions = (ctypes.c_int64 * 2)()
acl.aclrtMemcpy(positions, ctypes.c_size_t(16), found[0], ctypes.c_size_t(16), 2)
assert list(positions) == [1, 3], list(positions)

# A row for each dimension, if that is wanted.
dims = (ctypes.c_int64 * 2)(1, 4)
found = (found[0], ctypes.c_void_p(acl.aclCreateTensorDesc(9, 2, dims, 2)), found[2])
assert acl.aclopSetAttrBool(attributes, b"transpose", ctypes.c_uint8(1)) == 0
assert compiler.aclopCompileAndExecuteV2(
    b"NonZero", 1, array(masked[1]), array(masked[2]), 1, array(found[1]), array(found[2]),
    attributes, 0, 0, None, None) == 0, acl.aclGetRecentErrMsg()
sizes = [acl.aclGetTensorDescDim(found[1], ctypes.c_size_t(i)) for i in range(2)]
assert sizes == [1, 2], sizes
acl.aclrtMemcpy(positions, ctypes.c_size_t(16), found[0], ctypes.c_size_t(16), 2)
assert list(positions) == [1, 3], list(positions)

# Its attributes are missing: a shape of one element for a tensor of four.
assert execute(b"ConfusionTransposeD", source, target) == 100021, acl.aclGetRecentErrMsg()
assert b"a shape of 1 elements for a tensor of 4" in acl.aclGetRecentErrMsg()

short = on_device((ctypes.c_float * 4)())
dims = (ctypes.c_int64 * 1)(400)
short = (short[0], ctypes.c_void_p(acl.aclCreateTensorDesc(0, 1, dims, 2)), short[2])
assert execute(b"Identity", source, short) != 0
assert b"a buffer of 16 bytes for a tensor of 1600" in acl.aclGetRecentErrMsg()

assert compiler.aclSetCompileopt(10, b"enable") == 0
value = ctypes.create_string_buffer(compiler.aclGetCompileoptSize(10))
assert compiler.aclGetCompileopt(10, value, ctypes.c_size_t(len(value))) == 0
assert value.value == b"enable"
assert compiler.aclSetCompileopt(99, b"enable") == 100000
"""


def test_operators_run_by_name_and_unknown_ones_are_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(softcann.toolkit_path() / "lib64")],
        env={**softcann.environment(), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
