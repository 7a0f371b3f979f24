"""Which anchors of a feature map are responsible for the ground truth."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def box_dtype_check(box: torch.Tensor) -> torch.Tensor:
    """`box` itself in float32 or float16, and in float32 otherwise."""
    return box if box.dtype in (torch.float32, torch.float16) else box.float()


def npu_single_level_responsible_flags(
    featmap_size: Sequence[int],
    gt_bboxes: torch.Tensor,
    stride: Sequence[int],
    num_base_anchors: int,
) -> torch.Tensor:
    """1 for each anchor of a cell that holds the centre of a ground truth box, else 0.

    Args:
        featmap_size: (H, W) of the feature map, in cells.
        gt_bboxes: boxes as corners (x1, y1, x2, y2) in pixels, of the shape (n, 4).
        stride: (x, y) size of a cell in pixels.
        num_base_anchors: anchors in a cell.

    Returns a uint8 tensor of the shape (H * W * num_base_anchors,). A centre outside of the map
    raises `IndexError` at the device's next synchronisation.
    """
    height, width = featmap_size
    boxes = box_dtype_check(gt_bboxes)
    columns = ((boxes[:, 0] + boxes[:, 2]) * 0.5 / stride[0]).floor().long()
    rows = ((boxes[:, 1] + boxes[:, 3]) * 0.5 / stride[1]).floor().long()
    cells = torch.zeros(height * width, dtype=torch.uint8, device=boxes.device)
    cells.index_fill_(0, rows * width + columns, 1)
    return cells.repeat_interleave(num_base_anchors)
