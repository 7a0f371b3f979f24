"""Non-maximum suppression for several classes."""

from __future__ import annotations

import torch


def npu_multiclass_nms(
    multi_bboxes: torch.Tensor,
    multi_scores: torch.Tensor,
    score_thr: float = 0.05,
    nms_thr: float = 0.45,
    max_num: int = 50,
    score_factors: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best boxes of every class that do not overlap a better one of it. Waits for the device.

    Args:
        multi_bboxes: corners, of the shape (n, 4), or (n, classes, 4) for boxes by class.
        multi_scores: (n, classes + 1); the last column is the background and is ignored.
        score_thr: boxes must have a score above it.
        nms_thr: boxes overlap where their intersection over union is above it.
        max_num: how many boxes are returned; missing ones are zeros.
        score_factors: (n,), multiplied with the scores.

    Returns boxes with their scores (max_num, 5), by score, and their classes (max_num,), both in
    float16 as on a card.
    """
    factors = None if score_factors is None else score_factors[None]
    boxes, classes = npu_batched_multiclass_nms(
        multi_bboxes[None], multi_scores[None], score_thr, nms_thr, max_num, factors
    )
    return boxes[0], classes[0]


def npu_batched_multiclass_nms(
    multi_bboxes: torch.Tensor,
    multi_scores: torch.Tensor,
    score_thr: float = 0.05,
    nms_thr: float = 0.45,
    max_num: int = 50,
    score_factors: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`npu_multiclass_nms` for each image of a batch, the first dimension of every argument."""
    batch, count, columns = multi_scores.shape
    scores = multi_scores[..., :-1]
    if score_factors is not None:
        scores = scores * score_factors[..., None]
    boxes = multi_bboxes.reshape(batch, count, -1, 4)
    if boxes.shape[2] not in (1, columns - 1):
        raise ValueError(
            f"multi_bboxes has boxes for {boxes.shape[2]} classes, multi_scores for {columns - 1}"
        )
    images = [
        _best(image_boxes.float().cpu(), image_scores.float().cpu(), score_thr, nms_thr, max_num)
        for image_boxes, image_scores in zip(boxes, scores, strict=True)
    ]
    found = torch.stack([image[0] for image in images]).to(multi_bboxes.device, torch.float16)
    return found, torch.stack([image[1] for image in images]).to(found)


def _best(
    boxes: torch.Tensor, scores: torch.Tensor, score_thr: float, nms_thr: float, max_num: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The boxes (max_num, 5) and classes (max_num,) of one image, on the host."""
    kept: list[torch.Tensor] = []
    for label in range(scores.shape[1]):
        candidates = (scores[:, label] > score_thr).nonzero()[:, 0]
        rows = torch.cat(
            [
                boxes[candidates, min(label, boxes.shape[1] - 1)],
                scores[candidates, label, None],
                torch.full((len(candidates), 1), float(label)),
            ],
            1,
        )
        kept.append(_suppressed(rows[rows[:, 4].argsort(descending=True)], nms_thr, max_num))
    rows = torch.cat([*kept, torch.zeros(max_num, 6)])
    # The zeros come last: every score is above a threshold that is no less than zero.
    order = rows[:, 4].argsort(descending=True, stable=True)[:max_num]
    return rows[order, :5], rows[order, 5]


def _suppressed(rows: torch.Tensor, nms_thr: float, max_num: int) -> torch.Tensor:
    kept: list[torch.Tensor] = []
    while len(rows) and len(kept) < max_num:
        best, rows = rows[0], rows[1:]
        kept.append(best)
        rows = rows[_overlap(best, rows) <= nms_thr]
    return torch.stack(kept) if kept else rows[:0]


def _overlap(box: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Intersection over union."""
    size = (torch.minimum(box[2:4], others[:, 2:4]) - torch.maximum(box[:2], others[:, :2])).clamp(
        min=0
    )
    common = size.prod(1)
    areas = (others[:, 2:4] - others[:, :2]).prod(1)
    return common / ((box[2:4] - box[:2]).prod() + areas - common).clamp(min=1e-9)
