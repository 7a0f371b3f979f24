"""Ascend's own operators that PyTorch's say in full, against a formula each."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_npu


@pytest.mark.covers("torch_npu.npu_linear")
def test_linear_and_its_gradients(compare: Any) -> None:
    x, weight, bias = (
        torch.randn(shape, requires_grad=True) for shape in ((2, 3, 4), (5, 4), (5,))
    )
    compare(torch_npu.npu_linear, lambda x, w, b: x @ w.t() + b, x, weight, bias)


@pytest.mark.parametrize("sizes", [[], [6, 5]])
@pytest.mark.covers("torch_npu.npu_bmmV2")
def test_bmm_reshapes_its_product(compare: Any, sizes: list[int]) -> None:
    def reference(a: torch.Tensor, b: torch.Tensor, sizes: list[int]) -> torch.Tensor:
        return (a @ b).reshape(sizes) if sizes else a @ b

    a, b = torch.randn(2, 3, 4, requires_grad=True), torch.randn(2, 4, 5, requires_grad=True)
    compare(torch_npu.npu_bmmV2, reference, a, b, sizes)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.covers("torch_npu.npu_confusion_transpose")
def test_confusion_transpose_and_its_gradient(compare: Any, first: bool) -> None:
    def reference(x: torch.Tensor, perm: list[int], shape: list[int], first: bool) -> Any:
        return x.permute(perm).reshape(shape) if first else x.reshape(shape).permute(perm)

    x = torch.randn(2, 3, 4, 6, requires_grad=True)
    shape = [2, 4, 18] if first else [2, 12, 3, 2]
    compare(torch_npu.npu_confusion_transpose, reference, x, [0, 2, 1, 3], shape, first)


@pytest.mark.parametrize("first", [False, True])
def test_confusion_transpose_backward_takes_the_opposite_order(first: bool) -> None:
    x = torch.randn(2, 3, 4, 6, requires_grad=True)
    perm, shape = [0, 2, 1, 3], [2, 4, 18] if first else [2, 12, 3, 2]
    y = x.permute(perm).reshape(shape) if first else x.reshape(shape).permute(perm)
    grad = torch.randn(y.shape)
    y.backward(grad)
    got = torch_npu.npu_confusion_transpose_backward(grad.npu(), perm, list(x.shape), not first)
    torch.testing.assert_close(got.cpu(), x.grad)


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32, torch.bool])
def test_dtype_cast(dtype: torch.dtype) -> None:
    x = torch.tensor([0.0, 1.5, -2.0])
    assert torch.equal(torch_npu.npu_dtype_cast(x.npu(), dtype).cpu(), x.to(dtype))


def test_dtype_cast_passes_the_gradient() -> None:
    x = torch.randn(3, device="npu", requires_grad=True)
    torch_npu.npu_dtype_cast(x, torch.float16).float().sum().backward()
    assert torch.equal(x.grad.cpu(), torch.ones(3))


def test_dtype_cast_in_place_copies_the_source() -> None:
    x = torch.zeros(3, dtype=torch.float16, device="npu")
    assert torch_npu.npu_dtype_cast_(x, torch.tensor([1.0, 2.5, 3.0]).npu()) is x
    assert x.cpu().tolist() == [1.0, 2.5, 3.0]


def test_one_fills_with_ones() -> None:
    x = torch.randn(2, 3, device="npu")
    assert torch_npu.one_(x) is x
    assert torch.equal(x.cpu(), torch.ones(2, 3))


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.covers("torch_npu.npu_scatter_nd_update")
def test_scatter_nd_update_writes_rows_and_elements(width: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 5, 3)
    indices = torch.tensor([[3, 1], [0, 4]], dtype=torch.int32)[:, :width]
    updates = torch.randn(2, *x.shape[width:])
    want = x.clone()
    for index, update in zip(indices, updates, strict=True):
        want[tuple(index.tolist())] = update
    y = x.npu()
    out = torch_npu.npu_scatter_nd_update(y, indices.npu(), updates.npu())
    assert torch.equal(out.cpu(), want)
    assert torch.equal(y.cpu(), x)
    assert torch_npu.npu_scatter_nd_update_(y, indices.npu(), updates.npu()) is y
    assert torch.equal(y.cpu(), want)


def test_scatter_nd_update_refuses_updates_that_do_not_fit() -> None:
    x = torch.zeros(4, 5, device="npu")
    index = torch.zeros(2, 1, dtype=torch.int32, device="npu")
    with pytest.raises(RuntimeError, match="npu_scatter_nd_update_: expected updates"):
        torch_npu.npu_scatter_nd_update_(x, index, torch.zeros(2, 4, device="npu"))


def test_scatter_nd_update_refuses_an_index_outside() -> None:
    x = torch.zeros(4, 5, device="npu")
    index = torch.full((1, 1), 7, dtype=torch.int64, device="npu")
    with pytest.raises((RuntimeError, IndexError)):
        torch_npu.npu_scatter_nd_update_(x, index, torch.zeros(1, 5, device="npu")).cpu()


def test_reshape_and_cache_writes_slots_and_leaves_negative_ones() -> None:
    key, value = torch.randn(2, 3, 2, 4).unbind(0)
    caches = [torch.zeros(2, 4, 2, 4, device="npu") for _ in range(2)]
    slots = torch.tensor([5, -1, 0], dtype=torch.int32)
    torch_npu._npu_reshape_and_cache(key.npu(), value.npu(), *caches, slots.npu())
    for cache, tokens in zip(caches, (key, value), strict=True):
        want = torch.zeros(8, 2, 4)
        want[5], want[0] = tokens[0], tokens[2]
        assert torch.equal(cache.cpu().view(8, 2, 4), want)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.covers("torch_npu.npu_gelu")
def test_gelu_and_its_gradient(compare: Any, approximate: str) -> None:
    def reference(x: torch.Tensor, approximate: str) -> torch.Tensor:
        if approximate == "none":
            return 0.5 * x * (1 + torch.erf(x / 2**0.5))
        return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))

    x = torch.randn(3, 4, requires_grad=True)
    compare(torch_npu.npu_gelu, reference, x, approximate=approximate)


def test_silu_and_mish_and_their_gradients(compare: Any) -> None:
    x = torch.randn(3, 4, requires_grad=True)
    compare(torch_npu.npu_silu, lambda x: x * torch.sigmoid(x), x)
    compare(torch_npu.npu_mish, lambda x: x * torch.tanh(torch.log1p(torch.exp(x))), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.covers("torch_npu.npu_scaled_masked_softmax")
def test_scaled_masked_softmax_and_its_gradient(compare: Any, dtype: torch.dtype) -> None:
    def reference(x: torch.Tensor, mask: torch.Tensor, scale: float) -> torch.Tensor:
        return torch.softmax((x.float() * scale).masked_fill(mask, -10000.0), -1).to(x.dtype)

    x = torch.randn(2, 3, 4, 8).to(dtype).requires_grad_()
    compare(torch_npu.npu_scaled_masked_softmax, reference, x, torch.rand(2, 1, 4, 8) < 0.3, 0.7)


def test_scaled_masked_softmax_backward() -> None:
    x = torch.randn(4, 8, requires_grad=True)
    mask = torch.rand(4, 8) < 0.3
    y = torch.softmax((x * 0.7).masked_fill(mask, -10000.0), -1)
    grad = torch.randn(4, 8)
    y.backward(grad)
    got = torch_npu.npu_scaled_masked_softmax_backward(
        grad.npu(), y.detach().npu(), mask.npu(), 0.7, False
    )
    torch.testing.assert_close(got.cpu(), x.grad)


@pytest.mark.parametrize("k", [None, [3, 1], [0, 8]])  # all stay where k is not between
@pytest.mark.parametrize("p", [None, [0.6, 0.95]])
def test_top_k_top_p_keeps_the_likely_ones(k: list[int] | None, p: list[float] | None) -> None:
    torch.manual_seed(0)
    logits = torch.randn(2, 8)
    out = torch_npu.npu_top_k_top_p(
        logits.npu(),
        torch.tensor(p).npu() if p else None,
        torch.tensor(k, dtype=torch.int32).npu() if k else None,
    ).cpu()
    for row in range(2):
        kept = sorted(range(8), key=lambda i: logits[row, i].item())
        if k:
            kept = kept[-k[row] :]
        if p:
            share = torch.softmax(logits[row, kept], 0).cumsum(0)
            kept = [i for i, s in zip(kept, share, strict=True) if s > 1 - p[row]] or kept[-1:]
        want = torch.full((8,), float("-inf"))
        want[kept] = logits[row, kept]
        assert torch.equal(out[row], want)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cross_entropy_loss(
    compare: Any, reduction: str, weighted: bool, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 7).to(dtype).requires_grad_()
    target, weight = torch.tensor([0, 6, 3, 3, 1]), torch.rand(7) if weighted else None
    options = {"weight": weight, "reduction": reduction, "ignore_index": 3, "label_smoothing": 0.1}

    def reference(x: torch.Tensor, target: torch.Tensor, **_: Any) -> Any:
        own = {**options, "weight": None if weight is None else weight.to(dtype)}
        loss = torch.nn.functional.cross_entropy(x, target, **own)
        return loss if reduction == "none" else loss.view(1), x.detach().log_softmax(1)

    compare(torch_npu.npu_cross_entropy_loss, reference, x, target, **options)


def test_cross_entropy_loss_refuses_zloss() -> None:
    x, target = torch.rand(2, 3, device="npu"), torch.zeros(2, dtype=torch.int64, device="npu")
    with pytest.raises(NotImplementedError, match="npu_cross_entropy_loss: zloss"):
        torch_npu.npu_cross_entropy_loss(x, target, return_zloss=True)


@pytest.mark.covers("torch_npu.npu_iou")
def test_iou_of_each_pair_of_boxes() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [10, 10, 20, 20], [32, 32, 38, 42]])
    truths = torch.tensor([[0.0, 0, 10, 20], [0, 10, 10, 10], [10, 10, 20, 20]])
    out = torch_npu.npu_iou(boxes.npu(), truths.npu(), 0)
    want = torch.tensor([[0.5, 0, 0], [0, 0, 0], [0, 1, 0]])
    torch.testing.assert_close(out.cpu(), want)
    foreground = torch_npu.npu_iou(boxes.npu(), truths.npu(), 1)
    torch.testing.assert_close(foreground.cpu(), want)  # the overlaps are half a truth, and a whole
    wide = torch.tensor([[0.0, 0, 20, 20]])
    foreground = torch_npu.npu_iou(wide.npu(), truths.npu(), 1)
    torch.testing.assert_close(foreground.cpu(), torch.tensor([[1.0], [0.0], [1.0]]))
    assert torch.equal(torch_npu.npu_ptiou(boxes.npu(), truths.npu()).cpu(), out.cpu())
    with pytest.raises(NotImplementedError, match="npu_iou: mode 2"):
        torch_npu.npu_iou(boxes.npu(), truths.npu(), 2)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.covers("torch_npu.npu_nms_v4")
def test_nms_leaves_no_two_boxes_that_overlap(padded: bool) -> None:
    boxes = torch.tensor(
        [[0.0, 0, 10, 10], [0, 0, 10, 9], [20, 20, 30, 30], [0, 5, 10, 15], [50, 50, 51, 51]]
    )
    scores = torch.tensor([0.6, 0.9, 0.8, 0.7, 0.1])
    chosen, valid = torch_npu.npu_nms_v4(
        boxes.npu(), scores.npu(), 4, torch.tensor(0.5).npu(), torch.tensor(0.3).npu(), padded
    )
    assert valid.item() == 3
    assert chosen.cpu().tolist() == [1, 2, 3] + [0] * padded
    assert chosen.dtype == torch.int32


def interleaved(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    q = torch.cat([x[..., ::2], x[..., 1::2]], -1).float()
    first, second = q.chunk(2, -1)
    return (q * cos + torch.cat([-second, first], -1) * sin).to(x.dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_interleave_rope(compare: Any, dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 4, 8).to(dtype)
    cos, sin = torch.randn(2, 2, 1, 4, 8).to(dtype)
    compare(torch_npu.npu_interleave_rope, interleaved, x, cos, sin)


@pytest.mark.parametrize("mode", ["Norm", "PA", "PA_BNSD"])
def test_kv_rmsnorm_rope_cache_fills_the_caches(mode: str) -> None:
    torch.manual_seed(0)
    batch, length, rms, rope = 2, 3, 8, 4
    kv, gamma = torch.randn(batch, 1, length, rms + rope), torch.randn(rms)
    cos, sin = torch.randn(2, batch, 1, length, rope)
    if mode == "Norm":
        shape, index = (batch, 1, 6), torch.tensor([[1, 2, 5], [0, 3, 4]])
        places = torch.tensor([[1, 2, 5], [6, 9, 10]]).flatten()
    else:
        shape, index = (4, 3, 1), torch.tensor([11, 0, 4, 2, -1, 7])
        places = index
    k_cache, ckv_cache = torch.zeros(*shape, rope), torch.zeros(*shape, rms)
    wide = kv[..., :rms]
    compressed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5) * gamma
    key = interleaved(kv[..., rms:], cos, sin)
    caches = [k_cache.npu(), ckv_cache.npu()]
    out = torch_npu.npu_kv_rmsnorm_rope_cache(
        kv.npu(),
        gamma.npu(),
        cos.npu(),
        sin.npu(),
        index.npu(),
        *caches,
        cache_mode=mode,
        is_output_kv=True,
    )
    for cache, got, tokens in zip(caches, out[:2], (key, compressed), strict=True):
        want = torch.zeros(12, tokens.shape[-1])
        for place, token in zip(places.tolist(), tokens.reshape(6, -1), strict=True):
            if place >= 0:
                want[place] = token
        torch.testing.assert_close(cache.cpu().view(12, -1), want)
        assert got.data_ptr() == cache.data_ptr()
    torch.testing.assert_close(out[2].cpu(), key)
    torch.testing.assert_close(out[3].cpu(), compressed)


def nz(cache: torch.Tensor) -> torch.Tensor:
    """A cache in FRACTAL_NZ, (blocks, width / 16, block, 16) in memory, as (slots, width)."""
    blocks, block, _, width = cache.shape
    return cache.view(blocks, width // 16, block, 16).transpose(1, 2).reshape(-1, width)


@pytest.mark.parametrize("mode", ["PA_NZ", "PA_BLK_BNSD", "PA_BLK_NZ"])
def test_kv_rmsnorm_rope_cache_in_blocks_and_in_nz(mode: str) -> None:
    torch.manual_seed(0)
    batch, length, block, width = 2, 5, 4, 32
    kv, gamma = torch.randn(batch, 1, length, 2 * width), torch.randn(width)
    cos, sin = torch.randn(2, batch, 1, length, width)
    starts = torch.tensor([8, 0, 4, -4])  # two blocks for each sequence; the last is left out
    slots = torch.tensor([8, 9, 10, 11, 0, 4, 5, 6, 7, -1])
    caches = [torch.zeros(3, block, 1, width, device="npu") for _ in range(2)]
    torch_npu.npu_kv_rmsnorm_rope_cache(
        *[t.npu() for t in (kv, gamma, cos, sin, starts if "BLK" in mode else slots)],
        *caches,
        cache_mode=mode,
    )
    wide = kv[..., :width]
    compressed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5) * gamma
    for cache, tokens in zip(
        caches, (interleaved(kv[..., width:], cos, sin), compressed), strict=True
    ):
        want = torch.zeros(12, width)
        want[slots[:-1]] = tokens.reshape(-1, width)[:-1]
        rows = nz(cache.cpu()) if "NZ" in mode else cache.cpu().view(12, width)
        torch.testing.assert_close(rows, want)


@pytest.mark.parametrize("mode", ["PA", "PA_NZ"])
@pytest.mark.parametrize("shifted", [False, True])
def test_kv_rmsnorm_rope_cache_in_int8(mode: str, shifted: bool) -> None:
    torch.manual_seed(0)
    length, width = 5, 32
    kv, gamma = torch.randn(1, 1, length, 2 * width), torch.randn(width)
    cos, sin = torch.randn(2, 1, 1, length, width)
    scales, offsets = torch.rand(2, width) * 30 + 10, torch.randint(-9, 9, (2, width)).float()
    slots = torch.tensor([7, 0, 3, 2, 5])
    caches = [torch.zeros(2, 4, 1, width, dtype=torch.int8, device="npu") for _ in range(2)]
    options = {"k_rope_scale": scales[0], "c_kv_scale": scales[1]}
    if shifted:
        options |= {"k_rope_offset": offsets[0], "c_kv_offset": offsets[1]}
    out = torch_npu.npu_kv_rmsnorm_rope_cache(
        *[t.npu() for t in (kv, gamma, cos, sin, slots)],
        *caches,
        **{name: value.npu() for name, value in options.items()},
        cache_mode=mode,
        is_output_kv=True,
    )
    wide = kv[..., :width]
    compressed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5) * gamma
    parts = interleaved(kv[..., width:], cos, sin), compressed
    for i, (cache, tokens) in enumerate(zip(caches, parts, strict=True)):
        torch.testing.assert_close(out[2 + i].cpu(), tokens)
        want = tokens.view(length, width) * scales[i] + (offsets[i] if shifted else 0)
        rows = cache.cpu()  # a row of 32 numbers is one piece, so both modes lay it out alike
        assert (rows.view(8, width)[slots] - want.clamp(-128, 127)).abs().max() <= 0.5 + 1e-3


def test_kv_rmsnorm_rope_cache_in_int8_needs_scales() -> None:
    x, gamma = torch.ones(1, 1, 1, 4, device="npu"), torch.ones(2, device="npu")
    index = torch.zeros(1, dtype=torch.int64, device="npu")
    cache = torch.zeros(1, 1, 1, 2, dtype=torch.int8, device="npu")
    with pytest.raises(RuntimeError, match="a cache in int8 needs"):
        torch_npu.npu_kv_rmsnorm_rope_cache(
            x, gamma, x[..., :2], x[..., :2], index, cache, cache, cache_mode="PA"
        )


def test_kv_rmsnorm_rope_cache_refuses_another_mode() -> None:
    x = torch.ones(1, 1, 1, 4, device="npu")
    index = torch.zeros(1, 1, dtype=torch.int64, device="npu")
    with pytest.raises(NotImplementedError, match="cache_mode 'NZ' is not supported"):
        torch_npu.npu_kv_rmsnorm_rope_cache(
            x, x[0, 0, 0, :2], x[..., :2], x[..., :2], index, x, x, cache_mode="NZ"
        )


def test_cpu_tensor_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="npu_linear: expected an npu tensor"):
        torch_npu.npu_linear(torch.ones(2, 2), torch.ones(2, 2))
