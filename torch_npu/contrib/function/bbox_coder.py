"""Boxes as corners, and as the regression targets of a detection head."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from torch_npu.contrib.function.anchor_generator import box_dtype_check

_EPSILON = 1e-6


def npu_bbox_coder_encode_yolo(
    bboxes: torch.Tensor, gt_bboxes: torch.Tensor, stride: torch.Tensor
) -> torch.Tensor:
    """The targets of YOLO by which `bboxes` become `gt_bboxes`.

    Centres count from the middle of a cell, in cells, between 0 and 1; sizes are logarithms of
    ratios.

    Args:
        bboxes: corners (x1, y1, x2, y2), of the shape (n, 4).
        gt_bboxes: likewise.
        stride: the size of each box's cell, of the shape (n,).
    """
    x, y, width, height = _centres(*_checked("gt_bboxes", bboxes, gt_bboxes), 0)
    cells = stride.to(x[0].dtype)
    centre_x = ((x[1] - x[0]) / cells + 0.5).clamp(_EPSILON, 1 - _EPSILON)
    centre_y = ((y[1] - y[0]) / cells + 0.5).clamp(_EPSILON, 1 - _EPSILON)
    ratio_x = (width[1] / width[0]).clamp(min=_EPSILON).log()
    ratio_y = (height[1] / height[0]).clamp(min=_EPSILON).log()
    return torch.stack([centre_x, centre_y, ratio_x, ratio_y], -1)


def npu_bbox_coder_encode_xyxy2xywh(
    bboxes: torch.Tensor,
    gt_bboxes: torch.Tensor,
    means: Sequence[float] | None = None,
    stds: Sequence[float] | None = None,
    is_normalized: bool = False,
    normalized_scale: float = 10000.0,
) -> torch.Tensor:
    """The deltas (dx, dy, dw, dh) by which `bboxes` become `gt_bboxes`; a box holds its last pixel.

    Args:
        bboxes: corners (x1, y1, x2, y2) in pixels, of the shape (n, 4).
        gt_bboxes: likewise.
        means: what is subtracted from the deltas; zeros by default.
        stds: what they are then divided by; ones by default.
        is_normalized: whether coordinates are shares of `normalized_scale` instead of pixels.
        normalized_scale: the number of pixels in such a unit.
    """
    bboxes, gt_bboxes = _checked("gt_bboxes", bboxes, gt_bboxes)
    if is_normalized:
        bboxes, gt_bboxes = bboxes * normalized_scale, gt_bboxes * normalized_scale
    x, y, width, height = _centres(bboxes, gt_bboxes, 1)
    deltas = torch.stack(
        [
            (x[1] - x[0]) / width[0],
            (y[1] - y[0]) / height[0],
            (width[1] / width[0]).abs().log(),
            (height[1] / height[0]).abs().log(),
        ],
        -1,
    )
    return (deltas - _row(means, 0.0, deltas)) / _row(stds, 1.0, deltas)


def npu_bbox_coder_decode_xywh2xyxy(
    bboxes: torch.Tensor,
    pred_bboxes: torch.Tensor,
    means: Sequence[float] | None = None,
    stds: Sequence[float] | None = None,
    max_shape: Sequence[int] | None = None,
    wh_ratio_clip: float = 16 / 1000,
) -> torch.Tensor:
    """The boxes, as corners, that deltas make of `bboxes`: what `…encode_xyxy2xywh` encoded.

    Args:
        bboxes: corners (x1, y1, x2, y2) in pixels, of the shape (n, 4).
        pred_bboxes: deltas (dx, dy, dw, dh), of the shape (n, 4).
        means: as in the encoding.
        stds: as in the encoding.
        max_shape: (H, W) of the image, to which boxes are cut; (9999, 9999) by default.
        wh_ratio_clip: width and height change by at most 1 / `wh_ratio_clip`.
    """
    bboxes, deltas = _checked("pred_bboxes", bboxes, pred_bboxes)
    deltas = deltas * _row(stds, 1.0, deltas) + _row(means, 0.0, deltas)
    x, y, width, height = _centres(bboxes, bboxes, 1)
    limit = abs(math.log(wh_ratio_clip))
    centre_x = x[0] + width[0] * deltas[:, 0]
    centre_y = y[0] + height[0] * deltas[:, 1]
    half_x = width[0] * deltas[:, 2].clamp(-limit, limit).exp() * 0.5 - 0.5
    half_y = height[0] * deltas[:, 3].clamp(-limit, limit).exp() * 0.5 - 0.5
    rows, columns = (9999, 9999) if max_shape is None else max_shape
    return torch.stack(
        [
            (centre_x - half_x).clamp(0, columns - 1),
            (centre_y - half_y).clamp(0, rows - 1),
            (centre_x + half_x).clamp(0, columns - 1),
            (centre_y + half_y).clamp(0, rows - 1),
        ],
        -1,
    )


def _checked(
    name: str, first: torch.Tensor, second: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    if first.dim() != 2 or first.shape[1] != 4 or first.shape != second.shape:
        raise ValueError(
            f"bboxes and {name} must both have the shape (n, 4), but have "
            f"{tuple(first.shape)} and {tuple(second.shape)}"
        )
    return box_dtype_check(first), box_dtype_check(second)


def _centres(first: torch.Tensor, second: torch.Tensor, last_pixel: int) -> torch.Tensor:
    """Centre x, y, width and height of both sets of boxes, of the shape (4, 2, n)."""
    left, top, right, bottom = torch.stack([first, second]).unbind(-1)
    return torch.stack(
        [
            (left + right) * 0.5,
            (top + bottom) * 0.5,
            right - left + last_pixel,
            bottom - top + last_pixel,
        ]
    )


def _row(values: Sequence[float] | None, default: float, like: torch.Tensor) -> torch.Tensor:
    return torch.tensor([default] * 4 if values is None else values).to(like)
