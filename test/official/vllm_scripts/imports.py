"""`import vllm_ascend`, the platform that vllm finds by it, and the modules behind it."""

from __future__ import annotations

import importlib

import vllm_ascend
from vllm.platforms import current_platform

from torch_npu.op_plugin.atb import _atb_ops

assert vllm_ascend.register() == "vllm_ascend.platform.NPUPlatform"
assert type(current_platform).__name__ == "NPUPlatform", current_platform
assert current_platform.device_type == "npu"
for name in (
    "platform",
    "utils",
    "ops",
    "attention.attention_v1",
    "distributed.parallel_state",
    "quantization",
    "worker.worker",
    "worker.model_runner_v1",
):
    importlib.import_module(f"vllm_ascend.{name}")
    print(f"vllm_ascend.{name}")
_atb_ops._register_atb_extensions()

# Kernels for a card, compiled for another torch. vllm-ascend does without and warns.
try:
    importlib.import_module("vllm_ascend.vllm_ascend_C")
except ImportError as error:
    print(f"vllm_ascend.vllm_ascend_C: {error}")
else:
    raise AssertionError("vllm_ascend_C loads: see what it can do now")
