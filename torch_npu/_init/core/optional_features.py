"""Features that not every user wants, registered so that they cost nothing until used."""

from __future__ import annotations

from torch_npu._init.core import lazy_names
from torch_npu._init.core.import_hooks import when_imported
from torch_npu._init.registry import dynamo, inductor


def load() -> None:
    """Prepares the optional features; imports none of the modules that they extend."""
    when_imported("torch._dynamo.device_interface", dynamo.register_device_interface)
    when_imported("torch._dynamo", dynamo.register_device_contexts)
    when_imported("torch._functorch._aot_autograd.utils", dynamo.register_random_states)
    when_imported("torch._inductor.codegen.common", inductor.register_refusal)
    lazy_names.refuse_missing_modules()
