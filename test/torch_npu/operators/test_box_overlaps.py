"""How well boxes agree, against the formulas of GIoU, DIoU and CIoU."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import torch_npu


def corners(boxes: torch.Tensor, centred: bool) -> torch.Tensor:
    if not centred:
        return boxes
    x, y, w, h = boxes.unbind(0)
    return torch.stack((x - w / 2, y - h / 2, x + w / 2, y + h / 2))


def agreement(kind: str, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """One pair of boxes by its corners."""
    ax1, ay1, ax2, ay2 = first.unbind()
    bx1, by1, bx2, by2 = second.unbind()
    width = (torch.minimum(ax2, bx2) - torch.maximum(ax1, bx1)).clamp(min=0)
    height = (torch.minimum(ay2, by2) - torch.maximum(ay1, by1)).clamp(min=0)
    common = width * height
    union = (ax2 - ax1) * (ay2 - ay1) + (bx2 - bx1) * (by2 - by1) - common
    overlap = common / union
    wide = torch.maximum(ax2, bx2) - torch.minimum(ax1, bx1)
    high = torch.maximum(ay2, by2) - torch.minimum(ay1, by1)
    if kind == "giou":
        return overlap - (wide * high - union) / (wide * high)
    centres = ((bx1 + bx2 - ax1 - ax2) ** 2 + (by1 + by2 - ay1 - ay2) ** 2) / 4
    result = overlap - centres / (wide**2 + high**2)
    if kind == "diou":
        return result
    angles = torch.atan((bx2 - bx1) / (by2 - by1)) - torch.atan((ax2 - ax1) / (ay2 - ay1))
    v = 4 / math.pi**2 * angles**2
    return result - (v / (1 - overlap + v)).detach() * v


@pytest.mark.parametrize("name", ["npu_giou", "npu_diou", "npu_ciou"])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.covers("torch_npu.npu_giou", "torch_npu.npu_diou", "torch_npu.npu_ciou")
def test_agreement_and_its_gradients(compare: Any, name: str, centred: bool, cross: bool) -> None:
    torch.manual_seed(0)
    kind = name.removeprefix("npu_")
    count, others = 5, 3 if cross else 5
    low = torch.rand(2, 2, max(count, others))
    boxes = torch.cat((low[0], low[0] + 0.2 + torch.rand_like(low[0]) if not centred else low[1]))
    truth = torch.cat((low[1], low[1] + 0.3 + torch.rand_like(low[1]) if not centred else low[0]))
    if centred:
        boxes[2:] += 0.2
        truth[2:] += 0.2
    arguments = [boxes[:, :count].clone().requires_grad_(), truth[:, :others].clone()]

    def reference(first: torch.Tensor, second: torch.Tensor, *_: Any) -> torch.Tensor:
        a, b = corners(first, centred), corners(second, centred)
        pairs = (
            [[agreement(kind, a[:, j], b[:, i]) for j in range(count)] for i in range(others)]
            if cross
            else [[agreement(kind, a[:, j], b[:, j]) for j in range(count)]]
        )
        result = torch.stack([torch.stack(row) for row in pairs])
        return result.t() if kind == "giou" else result

    operator = getattr(torch_npu, name)
    arguments[1].requires_grad_()
    compare(operator, reference, *arguments, centred, cross, tolerance={"atol": 1e-4, "rtol": 1e-4})


def test_ciou_s_other_output_is_the_difference_of_angles() -> None:
    boxes, truth = torch.rand(2, 4, 3) + 0.1
    _, angles = torch.ops.npu._npu_ciou(boxes.npu(), truth.npu(), True, False)
    want = torch.atan(truth[2] / truth[3]) - torch.atan(boxes[2] / boxes[3])
    torch.testing.assert_close(angles.cpu(), want.unsqueeze(0))


@pytest.mark.parametrize("name", ["npu_giou", "npu_diou", "npu_ciou"])
def test_what_is_not_supported_is_refused(name: str) -> None:
    boxes = torch.rand(4, 3, device="npu")
    with pytest.raises(NotImplementedError, match=f"{name}: mode 1 is not supported"):
        getattr(torch_npu, name)(boxes, boxes, mode=1)
    with pytest.raises(RuntimeError, match=f"{name}: expected boxes of"):
        getattr(torch_npu, name)(boxes.t(), boxes, is_cross=False)
