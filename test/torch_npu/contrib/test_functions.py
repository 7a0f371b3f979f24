"""Functions of detection and attention models, beside their definitions."""

from __future__ import annotations

import math

import pytest
import torch

from torch_npu.contrib import function
from torch_npu.contrib.function import anchor_generator

_BOXES = torch.tensor([[1.0, 2, 3, 4], [3, 4, 5, 6]])
_OTHERS = torch.tensor([[5.0, 6, 7, 8], [7, 8, 9, 6]])


@pytest.mark.covers("torch_npu.contrib.function.anchor_generator.box_dtype_check")
def test_boxes_are_float() -> None:
    check = anchor_generator.box_dtype_check
    for dtype in (torch.float16, torch.float32):
        box = torch.ones(1, 4, dtype=dtype, device="npu")
        assert check(box) is box
    assert check(torch.ones(1, 4, dtype=torch.int64, device="npu")).dtype == torch.float32


@pytest.mark.covers("torch_npu.contrib.function.npu_single_level_responsible_flags")
def test_cells_of_box_centres_are_responsible() -> None:
    # Centres (6, 10) and (31, 2) lie in the cells (row 1, column 0) and (row 0, column 3).
    boxes = torch.tensor([[4.0, 8, 8, 12], [30, 0, 32, 4]], device="npu")
    flags = function.npu_single_level_responsible_flags((2, 4), boxes, (8, 8), 3)
    assert flags.dtype == torch.uint8
    assert flags.view(2, 4, 3).cpu().tolist() == [
        [[0] * 3, [0] * 3, [0] * 3, [1] * 3],
        [[1] * 3, [0] * 3, [0] * 3, [0] * 3],
    ]


@pytest.mark.covers("torch_npu.contrib.function.npu_bbox_coder_encode_yolo")
def test_yolo_targets() -> None:
    anchors = torch.tensor([[0.0, 0, 4, 8]], device="npu")
    boxes = torch.tensor([[2.0, 2, 4, 10]], device="npu")
    stride = torch.tensor([8], device="npu", dtype=torch.int32)
    targets = function.npu_bbox_coder_encode_yolo(anchors, boxes, stride)
    torch.testing.assert_close(
        targets.cpu(), torch.tensor([[1 / 8 + 0.5, 2 / 8 + 0.5, math.log(0.5), 0.0]])
    )


@pytest.mark.covers("torch_npu.contrib.function.npu_bbox_coder_encode_xyxy2xywh")
def test_deltas_are_those_of_the_operators_document() -> None:
    deltas = function.npu_bbox_coder_encode_xyxy2xywh(
        _BOXES.npu(), _OTHERS.npu(), stds=[0.1, 0.1, 0.2, 0.2]
    )
    expected = torch.tensor([[13.3281, 13.3281, 0.0, 0.0], [13.3281, 6.6641, 0.0, -5.4922]])
    torch.testing.assert_close(deltas.cpu(), expected, atol=6e-3, rtol=0)
    scaled = function.npu_bbox_coder_encode_xyxy2xywh(
        _BOXES.npu() / 10,
        _OTHERS.npu() / 10,
        stds=[0.1, 0.1, 0.2, 0.2],
        is_normalized=True,
        normalized_scale=10.0,
    )
    torch.testing.assert_close(scaled, deltas)


@pytest.mark.covers("torch_npu.contrib.function.npu_bbox_coder_decode_xywh2xyxy")
def test_decoding_is_that_of_the_operators_document_and_undoes_encoding() -> None:
    decoded = function.npu_bbox_coder_decode_xywh2xyxy(
        _BOXES.npu(), _OTHERS.npu(), max_shape=(10, 10), wh_ratio_clip=0.1
    )
    expected = torch.tensor([[2.5, 6.5, 9, 9], [9, 9, 9, 9]])
    torch.testing.assert_close(decoded.cpu(), expected)
    target = torch.tensor([[4.0, 5, 9, 12], [1, 2, 7, 9]]).npu()
    means, stds = [0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]
    deltas = function.npu_bbox_coder_encode_xyxy2xywh(_BOXES.npu(), target, means, stds)
    back = function.npu_bbox_coder_decode_xywh2xyxy(_BOXES.npu(), deltas, means, stds)
    torch.testing.assert_close(back, target)


def test_boxes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2, 4\) and \(1, 4\)"):
        function.npu_bbox_coder_encode_xyxy2xywh(_BOXES.npu(), _OTHERS[:1].npu())
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        function.npu_bbox_coder_decode_xywh2xyxy(_BOXES[:, :3].npu(), _OTHERS[:, :3].npu())


@pytest.mark.covers("torch_npu.contrib.function.npu_multiclass_nms")
def test_overlapping_boxes_of_a_class_are_suppressed() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 0, 11, 10], [20, 20, 30, 30]], device="npu")
    scores = torch.tensor([[0.9, 0.3, 1.0], [0.8, 0.6, 1.0], [0.7, 0.01, 1.0]], device="npu")
    found, classes = function.npu_multiclass_nms(boxes, scores, max_num=5)
    assert found.dtype == torch.float16
    assert classes.tolist() == [0, 0, 1, 0, 0]
    assert found[:3, :4].tolist() == [boxes[0].tolist(), boxes[2].tolist(), boxes[1].tolist()]
    assert found[:, 4].tolist() == pytest.approx([0.9, 0.7, 0.6, 0, 0], abs=1e-3)
    factors = torch.tensor([0.0, 1.0, 0.5], device="npu")
    found, _ = function.npu_multiclass_nms(boxes, scores, max_num=2, score_factors=factors)
    assert found[:, 4].tolist() == pytest.approx([0.8, 0.6], abs=1e-3)


@pytest.mark.covers("torch_npu.contrib.function.npu_batched_multiclass_nms")
def test_images_of_a_batch_do_not_see_each_other() -> None:
    generator = torch.Generator().manual_seed(3)
    corners = torch.rand(2, 12, 2, generator=generator) * 8
    boxes = torch.cat([corners, corners + 4], 2).npu()
    scores = torch.rand(2, 12, 4, generator=generator).npu()
    found, classes = function.npu_batched_multiclass_nms(boxes, scores, max_num=9)
    for image in range(2):
        alone, label = function.npu_multiclass_nms(boxes[image], scores[image], max_num=9)
        assert torch.equal(found[image], alone)
        assert torch.equal(classes[image], label)
    with pytest.raises(ValueError, match="2 classes"):
        function.npu_multiclass_nms(boxes[0].view(6, 2, 4), scores[0, :6])


@pytest.mark.covers("torch_npu.contrib.function.npu_fast_condition_index_put")
@pytest.mark.parametrize("value", [0, 1, 2.5])
def test_values_are_put_where_the_condition_holds(value: float) -> None:
    x = torch.randn(4, 5, device="npu")
    expected = x.clone()
    expected[x < 0] = value
    assert torch.equal(function.npu_fast_condition_index_put(x, x < 0, value), expected)
    with pytest.raises(TypeError, match=r"torch\.bool"):
        function.npu_fast_condition_index_put(x, x, value)


@pytest.mark.covers("torch_npu.contrib.function.roll", "torch_npu.contrib.function.roll.roll")
def test_feature_maps_are_rolled_with_their_gradients() -> None:
    x = torch.randn(2, 5, 6, 3, requires_grad=True)
    on_npu = x.detach().npu().requires_grad_()
    rolled = function.roll(on_npu, (-2, 3), (1, 2))
    expected = torch.roll(x, (-2, 3), (1, 2))
    assert torch.equal(rolled.cpu(), expected)
    weight = torch.randn_like(expected)
    (rolled * weight.npu()).sum().backward()
    (expected * weight).sum().backward()
    torch.testing.assert_close(on_npu.grad.cpu(), x.grad)
    with pytest.raises(ValueError, match="4 dimensions"):
        function.roll(on_npu[0], (1, 1), (0, 1))
    with pytest.raises(ValueError, match="2 values"):
        function.roll(on_npu, (1,), (1,))


@pytest.mark.covers("torch_npu.contrib.function.matmul_transpose")
def test_product_with_a_transposed_matrix() -> None:
    a = torch.randn(2, 3, 4, requires_grad=True)
    b = torch.randn(2, 5, 4, requires_grad=True)
    on_npu = [tensor.detach().npu().requires_grad_() for tensor in (a, b)]
    product = function.matmul_transpose(*on_npu)
    torch.testing.assert_close(product.cpu(), a @ b.mT)
    product.square().sum().backward()
    (a @ b.mT).square().sum().backward()
    torch.testing.assert_close(on_npu[0].grad.cpu(), a.grad)
    torch.testing.assert_close(on_npu[1].grad.cpu(), b.grad)


@pytest.mark.covers("torch_npu.contrib.function.dropout_with_byte_mask")
def test_dropout_drops_its_share_and_scales_the_rest() -> None:
    x = torch.ones(20_000, device="npu")
    dropped = function.dropout_with_byte_mask(x, 0.25)
    assert sorted(dropped.unique().tolist()) == pytest.approx([0, 4 / 3])
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)
    assert torch.equal(function.dropout_with_byte_mask(x, 0.25, training=False), x)
    for p in (-0.1, 1.1):
        with pytest.raises(ValueError, match=str(p)):
            function.dropout_with_byte_mask(x, p)
    with pytest.raises(ValueError, match="in-place"):
        function.dropout_with_byte_mask(x, inplace=True)


@pytest.mark.covers("torch_npu.contrib.function.fuse_add_softmax_dropout")
def test_masked_attention_probabilities() -> None:
    scores, mask = torch.randn(2, 3, 8, 8), torch.randn(2, 1, 8, 8)
    dropout = torch.nn.Dropout(0.5)
    fused = function.fuse_add_softmax_dropout
    probabilities = fused(False, dropout, mask.npu(), scores.npu(), 64, p=0.5)
    expected = torch.softmax(mask + scores / 8, -1)
    torch.testing.assert_close(probabilities.cpu(), expected)
    dropped = fused(True, dropout, mask.npu(), scores.npu(), 64, p=0.5).cpu()
    kept = dropped != 0
    assert 0.3 < kept.float().mean() < 0.7
    torch.testing.assert_close(dropped[kept], 2 * expected[kept])


def _attention(batch: int, x: torch.Tensor, mask: torch.Tensor, parts: list, scale: float):
    """Head by head, on the CPU."""
    projected = [(x @ kernel + bias).view(batch, -1, 2, 64) for kernel, bias in parts]
    context = torch.empty(projected[0].shape)
    for image in range(batch):
        for head in range(2):
            q, k, v = (part[image, :, head] for part in projected)
            context[image, :, head] = torch.softmax(q @ k.T * scale + mask[image, 0], -1) @ v
    return context.view(-1, 128)


def _inputs() -> tuple[torch.Tensor, torch.Tensor, list]:
    generator = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator) * 0.3

    parts = [(draw(128, 128) * 0.3, draw(128)) for _ in range(3)]
    return draw(2 * 6, 128), draw(2, 1, 6, 6), parts


@pytest.mark.covers("torch_npu.contrib.function.npu_fused_attention")
def test_fused_attention() -> None:
    x, mask, parts = _inputs()
    kernels, biases = [[part[i].npu() for part in parts] for i in (0, 1)]
    hidden = x.npu().requires_grad_()
    arguments = (hidden, mask.npu(), *kernels, *biases)
    context = function.npu_fused_attention(*arguments, 0.125, 1.0)
    torch.testing.assert_close(context.cpu(), _attention(2, x, mask, parts, 0.125))
    context.sum().backward()
    assert hidden.grad.abs().sum() > 0
    with pytest.raises(ValueError, match="keep_prob"):
        function.npu_fused_attention(*arguments)
    with pytest.raises(ValueError, match="multiple of 64"):
        function.npu_fused_attention(hidden[:, :65], *arguments[1:], 1, 1.0)
    with pytest.raises(ValueError, match="attention_mask"):
        function.npu_fused_attention(hidden, mask.npu()[:1], *arguments[2:], 1, 1.0)


@pytest.mark.covers("torch_npu.contrib.function.npu_fused_attention_with_layernorm")
def test_fused_attention_with_layer_norm() -> None:
    x, mask, parts = _inputs()
    gamma, beta = torch.rand(128), torch.rand(128)
    kernels, biases = [[part[i].npu() for part in parts] for i in (0, 1)]
    context, norm = function.npu_fused_attention_with_layernorm(
        x.npu(), mask.npu(), *kernels, *biases, gamma.npu(), beta.npu(), 0.125, 1.0
    )
    expected = torch.nn.functional.layer_norm(x, (128,), gamma, beta)
    torch.testing.assert_close(norm.cpu(), expected)
    torch.testing.assert_close(
        context.cpu(), _attention(2, expected, mask, parts, 0.125), atol=1e-4, rtol=1e-4
    )
