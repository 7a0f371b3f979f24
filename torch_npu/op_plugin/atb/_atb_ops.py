"""Loading the operators of the namespace `atb`."""

from __future__ import annotations


def _register_atb_extensions() -> None:
    """Does nothing: the operators are part of the backend, which importing torch_npu loads.

    In the official package they are a library of their own, and vllm-ascend asks for it.
    """
