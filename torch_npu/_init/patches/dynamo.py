"""What `torch.compile` has to know of `torch.npu`, in Dynamo's own tables."""

from __future__ import annotations

from torch_npu._init.core.import_hooks import when_imported
from torch_npu._init.patches.patch_manager import PatchManager


@PatchManager.register_patch("dynamo")
def tables_of_dynamo() -> None:
    """Dynamo traces the functions and classes of `torch.npu` as it does those of `torch.cuda`.

    Missing hooks: Dynamo has one for a device's interface and one for its context manager, which
    `_init/registry/dynamo.py` uses. What it does at a function, which results are constants and
    which classes it makes within a graph stands in tables that name CUDA and XPU. This adds to
    those tables and replaces nothing; it runs when Dynamo is first imported.
    """
    when_imported("torch._dynamo", _extend)


def _extend() -> None:
    from torch_npu._init.patches import dynamo_rules, dynamo_streams, dynamo_tensor_types

    dynamo_rules.extend()
    dynamo_streams.extend()
    dynamo_tensor_types.extend()
