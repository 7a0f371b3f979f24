"""Runs a script with PyPI's torchvision beside a CPU build of PyTorch.

    python examples/ecosystem/torchvision_from_pypi.py examples/ecosystem/timm_resnet.py

PyPI's torchvision is built for CUDA. Beside a CPU build of PyTorch its compiled part is not loaded,
and importing its Python part fails, because that part adds to two operators of the compiled one.
Their schemas are declared here, so that the import succeeds; what needs the compiled part, such as
`torchvision.ops.nms`, raises torchvision's own error. With a torchvision built for the CPU, run the
script without this.

`make test` puts timm and torchvision into .venv/timm, see requirements/timm.txt.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import torch

PACKAGES = Path(sys.prefix) / "timm"

# Lives as long as the process: the declarations go with it.
_declarations = torch.library.Library("torchvision", "DEF")


def declare_operators() -> None:
    """Declares the operators that torchvision's Python part adds to."""
    for name in ("nms", "qnms"):
        _declarations.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python torchvision_from_pypi.py SCRIPT [ARGUMENTS]")
    sys.path.append(str(PACKAGES))
    declare_operators()
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
