"""Lets torchvision be imported beside a torch for the CPU.

PyPI's torchvision is linked with CUDA, so that its operators do not load, and its import fails at
the first that it describes. Their schemas are all that the import needs. PyTorch's own index has a
torchvision for the CPU, with which nothing is done here.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any


class Schemas:
    """Finds nothing; defines the operators when torchvision is first looked for."""

    def find_spec(self, name: str, *_arguments: Any) -> None:
        if name != "torchvision":
            return
        sys.meta_path.remove(self)
        import torch

        for operator in ("nms", "qnms"):
            torch.library.define(
                f"torchvision::{operator}",
                "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
            )


try:
    if "+cpu" not in version("torchvision"):
        sys.meta_path.insert(0, Schemas())
except PackageNotFoundError:
    pass
