"""Calls of aclnn functions' first phase from Python, with arguments written as text.

An argument is ``float32[2,3]`` (a tensor; ``float32[]`` has no dimensions, and ``float32[2,3]NZ``
is stored in FRACTAL_NZ), ``(a|b)`` (a list of tensors), ``{1,2}`` (an array), a number or ``true``
(a value or a scalar, as the function's signature says), a dtype, a word (a string), or ``null``.
Tensors have no memory: phase one looks at descriptors only.
"""

from __future__ import annotations

import ctypes
import functools

import softcann
from operators import generate, schema

ACL_DTYPES = {
    "float32": 0,
    "float16": 1,
    "int8": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 6,
    "uint16": 7,
    "uint32": 8,
    "int64": 9,
    "uint64": 10,
    "float64": 11,
    "bool": 12,
    "complex64": 16,
    "complex128": 17,
    "bfloat16": 27,
    "complex32": 33,
}
ACL_FORMATS = {"ND": 2, "NZ": 29}

VALUES = {
    "int": ctypes.c_int64,
    "int32": ctypes.c_int32,
    "int8": ctypes.c_int8,
    "uint64": ctypes.c_uint64,
    "bool": ctypes.c_bool,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
}


@functools.cache
def library() -> ctypes.CDLL:
    """softcann's operators; what creates something gives a pointer."""
    loaded = ctypes.CDLL(str(softcann.toolkit_path() / "lib64" / "libopapi.so"))
    for name in ("Tensor", "Scalar", "TensorList", "ScalarList"):
        getattr(loaded, f"aclCreate{name}").restype = ctypes.c_void_p
    for name in ("Int", "Float", "Bool"):
        getattr(loaded, f"aclCreate{name}Array").restype = ctypes.c_void_p
    loaded.softcannStrictMode.restype = ctypes.c_bool
    return loaded


@functools.cache
def _runtime() -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(softcann.toolkit_path() / "lib64" / "libascendcl.so"))
    loaded.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return loaded


@functools.cache
def _rows() -> dict[str, schema.Row]:
    return {row.function: row for row in schema.load(generate.ROOT / "table")}


def _pointer(create: str, *arguments: object) -> ctypes.c_void_p:
    made = getattr(library(), create)(*arguments)
    assert made, f"{create}{arguments}: {_runtime().aclGetRecentErrMsg()}"
    return ctypes.c_void_p(made)


def _tensor(text: str) -> ctypes.c_void_p:
    dtype, _, sizes = text.partition("[")
    sizes, _, storage = sizes.partition("]")
    dims = [int(size) for size in sizes.split(",") if size]
    array = (ctypes.c_int64 * len(dims))(*dims)
    count = ctypes.c_uint64(len(dims))
    return _pointer(
        "aclCreateTensor",
        array,
        count,
        ACL_DTYPES[dtype],
        None,
        ctypes.c_int64(0),
        ACL_FORMATS[storage or "ND"],
        array,
        count,
        None,
    )


def _scalar(text: str) -> ctypes.c_void_p:
    if text in ("true", "false"):
        value, dtype = ctypes.c_bool(text == "true"), "bool"
    elif text.endswith("j"):
        value, dtype = (ctypes.c_double * 2)(0.0, float(text[:-1])), "complex128"
    elif "." in text or text in ("nan", "inf"):
        value, dtype = ctypes.c_double(float(text)), "float64"
    else:
        value, dtype = ctypes.c_int64(int(text)), "int64"
    return _pointer("aclCreateScalar", ctypes.byref(value), ACL_DTYPES[dtype])


def _list(create: str, elements: list[ctypes.c_void_p]) -> ctypes.c_void_p:
    array = (ctypes.c_void_p * len(elements))(*[element.value for element in elements])
    return _pointer(create, array, ctypes.c_uint64(len(elements)))


def _array(kind: str, text: str) -> ctypes.c_void_p:
    numbers = [part for part in text.strip("{}").split(",") if part]
    c_type, convert = {
        "int": (ctypes.c_int64, int),
        "float": (ctypes.c_float, float),
        "bool": (ctypes.c_bool, lambda number: bool(int(number))),
    }[kind]
    array = (c_type * len(numbers))(*map(convert, numbers))
    return _pointer(f"aclCreate{kind.capitalize()}Array", array, ctypes.c_uint64(len(numbers)))


def argument(kind: str, text: str) -> object:
    """The C argument that `text` says, for a parameter of the table's kind."""
    if text == "null":
        return ctypes.c_void_p(None)
    base, is_list = kind.rstrip("!?~[]"), "[]" in kind
    if base == "Tensor" and is_list:
        elements = [part for part in text.strip("()").split("|") if part]
        return _list("aclCreateTensorList", [_tensor(part) for part in elements])
    if base == "Tensor":
        return _tensor(text)
    if base == "Scalar" and is_list:
        numbers = text.strip("{}").split(",")
        return _list("aclCreateScalarList", [_scalar(number) for number in numbers])
    if base == "Scalar":
        return _scalar(text)
    if is_list:
        return _array(base, text)
    if kind in ("int?", "double?", "bool?"):  # a number that may be missing is a scalar
        return _scalar(text)
    if base == "dtype":
        return ctypes.c_int(ACL_DTYPES[text])
    if base == "str":
        return ctypes.c_char_p(text.encode())
    if base == "bool":
        return ctypes.c_bool(text == "true")
    convert = float if base in ("double", "float") else int
    return VALUES[base](convert(text))


def call(function: str, arguments: str) -> tuple[int, str]:
    """…GetWorkspaceSize of the function: what it returns, and the error's text."""
    parameters = _rows()[function].parameters
    texts = arguments.split()
    assert len(texts) == len(parameters), f"{function} takes {[p.name for p in parameters]}"
    values = [argument(p.type, text) for p, text in zip(parameters, texts, strict=True)]
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    _runtime().aclGetRecentErrMsg()
    entry = getattr(library(), function + "GetWorkspaceSize")
    status = entry(*values, ctypes.byref(size), ctypes.byref(executor))
    message = (_runtime().aclGetRecentErrMsg() or b"").decode()
    if status == 0:
        library().aclDestroyAclOpExecutor(executor)
    _destroy(parameters, values)
    return status, message


def _destroy(parameters: tuple[schema.Parameter, ...], values: list[object]) -> None:
    for parameter, value in zip(parameters, values, strict=True):
        if "*" in parameter.c_type and isinstance(value, ctypes.c_void_p) and value.value:
            handle = parameter.kind.c_type.split()[-1].rstrip("*").removeprefix("acl")
            getattr(library(), f"aclDestroy{handle}")(value)
