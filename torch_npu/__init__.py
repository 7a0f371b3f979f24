"""PyTorch's `npu` device.

Importing registers the device and starts none: the first tensor, stream or query that needs a
device does. `import torch` imports this package by itself through PyTorch's entry point group
`torch.backends`, unless ``TORCH_DEVICE_BACKEND_AUTOLOAD=0`` is set.
"""

from __future__ import annotations


def _autoload() -> None:
    """What PyTorch's entry point calls after it has imported this package.

    The import has done everything by then. It stands above every import of this file on purpose:
    where a program imports `torch_npu` before `torch`, PyTorch looks this name up in the middle
    of our own import.
    """


import torch  # noqa: E402, F401

from torch_npu._init.core import (  # noqa: E402
    embedded_cann,
    exports,
    lifecycle,
    module_loader,
    number_lists,
    optional_features,
)
from torch_npu._init.patches import patch_manager  # noqa: E402
from torch_npu._init.registry import registry_manager  # noqa: E402
from torch_npu.version import __version__  # noqa: E402

# 1. Refuse what cannot work beside us.
module_loader.refuse_second_accelerator()
module_loader.refuse_second_distribution()

# 2. Core modules: the CANN to use, and the C++ backend.
embedded_cann.configure()
module_loader.load_core_modules()
number_lists.install()

# 3. Registration, which includes the check of the CANN installation.
registry_manager.register_all()

# 4. Patches.
patch_manager.apply_all()

# 5. Lifecycle.
lifecycle.install_exit_hook()

# 6. Public names and optional features.
exports.publish(globals())
optional_features.load()

__all__ = ["__version__", *exports.public_names()]
