"""npu_fusion_attention and its gradients against attention in plain PyTorch."""

from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

import pytest
import torch

import torch_npu

_SPEC = importlib.util.spec_from_file_location(
    "attention_reference", pathlib.Path(__file__).with_name("attention_reference.py")
)
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)

HEADS, KEY_HEADS, SIZE = 4, 2, 8
SCALE = 0.3


def inputs(batch: int = 2, queries: int = 5, keys: int = 7) -> list[torch.Tensor]:
    torch.manual_seed(0)
    shapes = [
        (batch, n, s, SIZE) for n, s in ((HEADS, queries), (KEY_HEADS, keys), (KEY_HEADS, keys))
    ]
    return [torch.randn(shape) for shape in shapes]


def triangle() -> torch.Tensor:
    return torch.triu(torch.ones(2048, 2048, dtype=torch.bool), 1)


def check(
    layout: str, tensors: list[torch.Tensor], hidden: Any, tolerance: float = 1e-5, **options: Any
) -> None:
    """Forward and backward, against the reference applied to each element of the batch."""
    host = [t.clone().requires_grad_() for t in tensors]
    bias = options.get("pse")
    host_bias = bias.clone().requires_grad_() if bias is not None else None
    outputs = []
    for i in range(host[0].shape[0]):
        own_bias = None
        if host_bias is not None:
            own_bias = host_bias[0 if host_bias.shape[0] == 1 else i]
        outputs.append(reference.attend(*[t[i] for t in host], SCALE, hidden, own_bias)[0])
    expected = torch.stack(outputs)

    device = [reference.to_layout(t, layout).npu().requires_grad_() for t in tensors]
    moved = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    if bias is not None:
        moved["pse"].requires_grad_()
    result = torch_npu.npu_fusion_attention(*device, HEADS, layout, scale=SCALE, **moved)
    out = result[0]
    want = reference.to_layout(expected.detach(), layout).to(tensors[0].dtype)
    torch.testing.assert_close(out.cpu(), want, atol=tolerance, rtol=tolerance)
    assert result[4:] == (0, 0, 0)

    weights = torch.randn(expected.shape)
    (expected * weights).sum().backward()
    (out.float() * reference.to_layout(weights, layout).npu()).sum().backward()
    for leaf, there in zip(host, device, strict=True):
        want = reference.to_layout(leaf.grad.float(), layout)
        torch.testing.assert_close(there.grad.cpu().float(), want, atol=tolerance, rtol=tolerance)
    if bias is not None:
        torch.testing.assert_close(
            moved["pse"].grad.cpu(), host_bias.grad, atol=tolerance, rtol=tolerance
        )


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
def test_layouts_with_grouped_heads(layout: str) -> None:
    check(layout, inputs(), None)


@pytest.mark.parametrize("mode", [0, 1, 2, 3, 4])
@pytest.mark.parametrize(("queries", "keys"), [(5, 7), (6, 6), (7, 5)])
def test_sparse_modes(mode: int, queries: int, keys: int) -> None:
    torch.manual_seed(1)
    full = torch.rand(queries, keys) < 0.3
    mask = full if mode < 2 else triangle()
    options = {"pre_tockens": 3, "next_tockens": 2} if mode in (0, 4) else {}
    hidden = reference.hidden(
        mode, queries, keys, full, options.get("pre_tockens", 99), options.get("next_tockens", 99)
    )
    check("BNSD", inputs(2, queries, keys), hidden, atten_mask=mask, sparse_mode=mode, **options)


def test_prefix_mode_shows_the_first_keys_to_all() -> None:
    hidden = reference.hidden(6, 5, 7, triangle(), prefix=4)
    check("BNSD", inputs(1), hidden, atten_mask=triangle(), sparse_mode=6, prefix=[4])


def test_mask_of_bytes_for_each_batch_and_head() -> None:
    mask = (torch.rand(1, 1, 5, 7) < 0.4).to(torch.uint8)
    check("BSH", inputs(), mask[0, 0].bool(), atten_mask=mask)


@pytest.mark.parametrize("heads", [1, HEADS])
def test_mask_of_each_sequence_and_of_each_head(heads: int) -> None:
    tensors = inputs()
    mask = torch.rand(2, heads, 5, 7) < 0.4
    out = torch_npu.npu_fusion_attention(
        *[t.npu() for t in tensors], HEADS, "BNSD", scale=SCALE, atten_mask=mask.npu()
    )[0]
    for i in range(2):
        want, _ = reference.attend(*[t[i] for t in tensors], SCALE, mask[i])
        torch.testing.assert_close(out[i].cpu(), want.float(), atol=1e-5, rtol=1e-5)


def test_dropout_of_packed_sequences_has_bits_for_each_pair_of_a_query_and_a_key() -> None:
    query = torch.zeros(40, 2, 4, device="npu")
    value = torch.eye(40).unsqueeze(1).repeat(1, 2, 1).npu()
    out, _, _, _, seed, offset, count = torch_npu.npu_fusion_attention(
        query,
        query,
        value,
        2,
        "TND",
        keep_prob=0.5,
        actual_seq_qlen=[16, 40],
        actual_seq_kvlen=[8, 40],
    )
    assert count == 2 * (16 * 8 + 24 * 32)
    bits = torch_npu._npu_dropout_gen_mask(query, [count], 0.5, seed, offset).cpu()
    kept = ((bits.unsqueeze(1) >> torch.arange(8, dtype=torch.uint8)) & 1).flatten()[:count]
    first, second = kept[: 2 * 16 * 8].view(2, 16, 8), kept[2 * 16 * 8 :].view(2, 24, 32)
    want = torch.zeros(40, 2, 40)
    want[:16, :, :8] = first.transpose(0, 1) / 8 / 0.5
    want[16:, :, 8:] = second.transpose(0, 1) / 32 / 0.5
    torch.testing.assert_close(out.cpu(), want)


@pytest.mark.parametrize("shape", [(2, HEADS, 5, 7), (1, HEADS, 5, 7), (2, HEADS, 1, 7)])
def test_position_bias_and_its_gradient(shape: tuple[int, ...]) -> None:
    check("BNSD", inputs(), None, pse=torch.randn(shape))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype: torch.dtype) -> None:
    check("BNSD", [t.to(dtype) for t in inputs()], None, tolerance=3e-2)


@pytest.mark.covers("torch_npu.npu_fusion_attention")
def test_statistics_are_the_maximum_and_the_sum_eight_times() -> None:
    query, key, value = inputs()
    _, maximum, total, *_ = torch_npu.npu_fusion_attention(
        query.npu(), key.npu(), value.npu(), HEADS, "BNSD", scale=SCALE
    )
    assert maximum.shape == total.shape == (2, HEADS, 5, 8)
    lse = torch.stack([reference.attend(query[i], key[i], value[i], SCALE)[1] for i in range(2)])
    both = (maximum + total.log()).cpu().double()
    torch.testing.assert_close(both, lse.unsqueeze(-1).expand(2, HEADS, 5, 8), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mode", [0, 3])
def test_packed_sequences_of_different_lengths(mode: int) -> None:
    torch.manual_seed(2)
    queries, keys = [3, 0, 4], [5, 2, 4]
    query = torch.randn(sum(queries), HEADS, SIZE)
    key, value = torch.randn(2, sum(keys), KEY_HEADS, SIZE)
    host = [t.clone().requires_grad_() for t in (query, key, value)]
    parts = []
    q, k = 0, 0
    for own_queries, own_keys in zip(queries, keys, strict=True):
        hidden = reference.hidden(mode, own_queries, own_keys, triangle()) if mode else None
        part = [
            host[0][q : q + own_queries].transpose(0, 1),
            host[1][k : k + own_keys].transpose(0, 1),
            host[2][k : k + own_keys].transpose(0, 1),
        ]
        parts.append(reference.attend(*part, SCALE, hidden)[0].transpose(0, 1))
        q, k = q + own_queries, k + own_keys
    expected = torch.cat(parts)

    device = [t.npu().requires_grad_() for t in (query, key, value)]
    out = torch_npu.npu_fusion_attention(
        *device,
        HEADS,
        "TND",
        scale=SCALE,
        actual_seq_qlen=[3, 3, 7],
        actual_seq_kvlen=[5, 7, 11],
        sparse_mode=mode,
        atten_mask=triangle().npu() if mode else None,
    )[0]
    torch.testing.assert_close(out.cpu(), expected.float(), atol=1e-5, rtol=1e-5)
    weights = torch.randn(expected.shape)
    (expected * weights).sum().backward()
    (out * weights.npu()).sum().backward()
    for leaf, there in zip(host, device, strict=True):
        torch.testing.assert_close(there.grad.cpu(), leaf.grad, atol=1e-5, rtol=1e-5)


def test_dropout_keeps_its_share_and_repeats_with_its_seed() -> None:
    query = torch.zeros(1, 2, 64, 4, device="npu")
    value = torch.eye(64, device="npu").expand(1, 2, 64, 64)
    key = torch.zeros(1, 2, 64, 4, device="npu")
    out, _, _, _, seed, offset, count = torch_npu.npu_fusion_attention(
        query, key, value, 2, "BNSD", keep_prob=0.75
    )
    # With equal scores and the identity as value, the output is the mask over 64 / 0.75.
    share = (out > 0).float().mean().item()
    assert abs(share - 0.75) < 0.03
    torch.testing.assert_close(out.max().item(), 1 / 64 / 0.75)
    assert count == 2 * 64 * 64
    again = torch_npu.npu_fusion_attention(
        query, key, value, 2, "BNSD", keep_prob=0.75, seed=seed, offset=offset
    )[0]
    assert torch.equal(again.cpu(), out.cpu())
    other = torch_npu.npu_fusion_attention(query, key, value, 2, "BNSD", keep_prob=0.75)[0]
    assert not torch.equal(other.cpu(), out.cpu())


def test_dropout_s_gradient_uses_the_same_mask() -> None:
    torch.manual_seed(0)
    tensors = [t.npu().requires_grad_() for t in inputs(1, 5, 7)]
    out, _, _, _, seed, offset, count = torch_npu.npu_fusion_attention(
        *tensors, HEADS, "BNSD", scale=SCALE, keep_prob=0.6
    )
    bits = torch_npu._npu_dropout_gen_mask(tensors[0], [count], 0.4, seed, offset).cpu()
    places = torch.arange(8, dtype=torch.uint8)
    kept = ((bits.unsqueeze(1) >> places) & 1).flatten()[:count].view(HEADS, 5, 7)
    host = [t.detach().cpu().requires_grad_() for t in tensors]
    expected = reference.attend(
        *[t[0] for t in host], SCALE, kept=kept.double(), keep_probability=0.6
    )[0]
    torch.testing.assert_close(out[0].cpu(), expected.float(), atol=1e-5, rtol=1e-5)
    expected.square().sum().backward()
    out.square().sum().backward()
    for here, there in zip(host, tensors, strict=True):
        torch.testing.assert_close(there.grad.cpu(), here.grad, atol=1e-4, rtol=1e-4)


def sequences(
    tensors: list[torch.Tensor], queries: list[int], keys: list[int], **options: Any
) -> torch.Tensor:
    """Packed attention of (tokens, heads, size) in plain PyTorch, sequence by sequence."""
    query, key, value = [t.transpose(0, 1) for t in tensors]
    parts, q, k = [], 0, 0
    for own_queries, own_keys in zip(queries, keys, strict=True):
        own = [query[:, q : q + own_queries], *[t[:, k : k + own_keys] for t in (key, value)]]
        parts.append(reference.attend(*own, SCALE, **options)[0].transpose(0, 1))
        q, k = q + own_queries, k + own_keys
    return torch.cat(parts)


def same_gradients(
    expected: torch.Tensor, out: torch.Tensor, host: list[Any], device: list[Any]
) -> None:
    torch.testing.assert_close(out.cpu(), expected.float(), atol=1e-5, rtol=1e-5)
    weights = torch.randn(expected.shape)
    (expected * weights).sum().backward()
    (out * weights.npu()).sum().backward()
    for leaf, there in zip(host, device, strict=True):
        torch.testing.assert_close(there.grad.cpu(), leaf.grad, atol=1e-5, rtol=1e-5)


VERSIONS = ["npu_fusion_attention", "npu_fusion_attention_v2", "npu_fusion_attention_v3"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("packed", [False, True])
def test_sink_takes_its_share_and_has_a_gradient(version: str, packed: bool) -> None:
    torch.manual_seed(3)
    sink = torch.randn(HEADS, requires_grad=True)
    if packed:
        host = [torch.randn(9, n, SIZE).requires_grad_() for n in (HEADS, KEY_HEADS, KEY_HEADS)]
        expected = sequences(host, [4, 5], [3, 6], sink=sink)
        ends = {"actual_seq_qlen": [4, 9], "actual_seq_kvlen": [3, 9]}
    else:
        host = [t.requires_grad_() for t in inputs()]
        each = [reference.attend(*[t[i] for t in host], SCALE, sink=sink)[0] for i in range(2)]
        expected, ends = torch.stack(each), {}
    device = [t.detach().npu().requires_grad_() for t in (*host, sink)]
    if version.endswith("v3"):
        ends = {name: torch.tensor(values, device="npu") for name, values in ends.items()}
    layout = "TND" if packed else "BNSD"
    out = getattr(torch_npu, version)(
        *device[:3], HEADS, layout, scale=SCALE, sink=device[3], **ends
    )[0]
    same_gradients(expected, out, [*host, sink], device)


def test_sink_is_all_that_a_query_without_keys_sees() -> None:
    query, key, value = [t.npu() for t in inputs(1, 3, 3)]
    mask = torch.ones(3, 3, dtype=torch.bool, device="npu")
    out, maximum, total, *_ = torch_npu.npu_fusion_attention(
        query, key, value, HEADS, "BNSD", atten_mask=mask, sink=torch.ones(HEADS, device="npu")
    )
    assert not out.any()
    assert (maximum == 1).all()
    assert (total == 1).all()


@pytest.mark.parametrize("with_sink", [False, True])
def test_rotary_parts_continue_queries_and_keys(with_sink: bool) -> None:
    torch.manual_seed(4)
    shapes = [(7, HEADS, SIZE), (9, KEY_HEADS, SIZE), (9, KEY_HEADS, SIZE)]
    host = [torch.randn(shape).requires_grad_() for shape in shapes]
    rope = [torch.randn(*shape[:2], 4).requires_grad_() for shape in shapes[:2]]
    sink = [torch.randn(HEADS, requires_grad=True)] if with_sink else []
    joined = [torch.cat((a, b), -1) for a, b in zip(host, rope, strict=False)]
    options = {"sink": sink[0]} if with_sink else {}
    expected = sequences([*joined, host[2]], [3, 4], [4, 5], **options)
    device = [t.detach().npu().requires_grad_() for t in (*host, *rope, *sink)]
    out = torch_npu.npu_fusion_attention_v2(
        *device[:3],
        HEADS,
        "TND",
        query_rope=device[3],
        key_rope=device[4],
        scale=SCALE,
        actual_seq_qlen=[3, 7],
        actual_seq_kvlen=[4, 9],
        **({"sink": device[5]} if with_sink else {}),
    )[0]
    same_gradients(expected, out, [*host, *rope, *sink], device)


def test_rotary_parts_of_whole_batches_are_refused() -> None:
    query, key, value = [t.npu() for t in inputs()]
    with pytest.raises(NotImplementedError, match="query_rope and key_rope need the layout TND"):
        torch_npu.npu_fusion_attention_v2(
            query, key, value, HEADS, "BNSD", query_rope=query, key_rope=key
        )
    with pytest.raises(RuntimeError, match="query_rope and key_rope together"):
        torch_npu.npu_fusion_attention_v2(query, key, value, HEADS, "BNSD", query_rope=query)


def test_query_that_sees_no_key_gives_zeros() -> None:
    query, key, value = [t.npu() for t in inputs(1, 3, 3)]
    mask = torch.zeros(3, 3, dtype=torch.bool)
    mask[1] = True
    out = torch_npu.npu_fusion_attention(query, key, value, HEADS, "BNSD", atten_mask=mask.npu())[
        0
    ].cpu()
    assert torch.equal(out[:, :, 1], torch.zeros(1, HEADS, SIZE))
    assert out.isfinite().all()


def test_version_2_adds_the_bias_after_scaling() -> None:
    query, key, value = inputs(1)
    bias = torch.randn(1, HEADS, 5, 7)
    expected, _ = reference.attend(
        query[0], key[0], value[0], SCALE, bias=bias[0], bias_scaled=False
    )
    out = torch_npu.npu_fusion_attention_v2(
        query.npu(), key.npu(), value.npu(), HEADS, "BNSD", pse=bias.npu(), scale=SCALE, pse_type=0
    )[0]
    torch.testing.assert_close(out[0].cpu(), expected.float(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("layout", ["BNSD", "SBH", "TND"])
@pytest.mark.covers("torch_npu.npu_fusion_attention")
def test_version_3_takes_lengths_as_tensors(layout: str) -> None:
    torch.manual_seed(0)
    if layout == "TND":
        host = [torch.randn(9, heads, SIZE) for heads in (HEADS, KEY_HEADS, KEY_HEADS)]
        lengths = {"actual_seq_qlen": [4, 9], "actual_seq_kvlen": [3, 9]}
    else:
        host, lengths = [reference.to_layout(t, layout) for t in inputs()], {}
    tensors = {name: torch.tensor(ends, device="npu") for name, ends in lengths.items()}
    first, third = ([t.npu().requires_grad_() for t in host] for _ in range(2))
    want = torch_npu.npu_fusion_attention(*first, HEADS, layout, scale=SCALE, **lengths)
    got = torch_npu.npu_fusion_attention_v3(*third, HEADS, layout, scale=SCALE, **tensors)
    assert (got[4].shape, got[4].dtype) == (got[5].shape, got[5].dtype) == ((1,), torch.int64)
    weights = torch.randn(want[0].shape).npu()
    (want[0] * weights).sum().backward()
    (got[0] * weights).sum().backward()
    for mine, other in zip((*got[:4], *third), (*want[:4], *first), strict=True):
        assert torch.equal(mine.cpu(), other.cpu())
    for mine, other in zip(third, first, strict=True):
        assert torch.equal(mine.grad.cpu(), other.grad.cpu())


def test_version_3_s_gradient_uses_the_dropout_of_its_seed() -> None:
    query = torch.zeros(1, 2, 64, 4, device="npu")
    value = torch.eye(64).expand(1, 2, 64, 64).npu().requires_grad_()
    out = torch_npu.npu_fusion_attention_v3(query, query, value, 2, "BNSD", keep_prob=0.75)[0]
    other = torch_npu.npu_fusion_attention_v3(query, query, value, 2, "BNSD", keep_prob=0.75)[0]
    assert not torch.equal(out.cpu(), other.cpu())
    # With equal scores and the identity as value, the output is the matrix of weights itself.
    share = (out > 0).float().mean().item()
    assert abs(share - 0.75) < 0.03
    torch.testing.assert_close(out.max().item(), 1 / 64 / 0.75)
    grad = torch.randn(1, 2, 64, 64)
    out.backward(grad.npu())
    weights = out.detach().cpu()
    torch.testing.assert_close(value.grad.cpu(), weights.transpose(-1, -2) @ grad)


def test_version_3_has_the_sizes_of_its_outputs_as_fake_tensors() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        query = torch.empty(6, HEADS, SIZE, device="npu")
        ends = torch.empty(2, dtype=torch.int64, device="npu")
        out, maximum, *_, seed, offset = torch_npu.npu_fusion_attention_v3(
            query, query, query, HEADS, "TND", actual_seq_qlen=ends, actual_seq_kvlen=ends
        )
    assert out.shape == query.shape
    assert maximum.shape == (6, HEADS, 8)
    assert seed.shape == offset.shape == (1,)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"keep_prob": 0.0}, ValueError, "keep_prob"),
        ({"sparse_mode": 8}, NotImplementedError, "sparse_mode 8"),
        ({"sink": torch.zeros(HEADS + 1)}, RuntimeError, "sink of"),
        ({"sink": torch.zeros(HEADS).half()}, RuntimeError, "sink of"),
        ({"input_layout": "XYZ"}, (RuntimeError, ValueError), "layout"),
        ({"head_num": 3}, RuntimeError, "heads"),
        ({"atten_mask": torch.zeros(2, 2, dtype=torch.bool)}, RuntimeError, "attention mask"),
        ({"atten_mask": torch.zeros(5, 7)}, RuntimeError, "atten_mask"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], error: Any, match: str) -> None:
    query, key, value = [t.npu() for t in inputs()]
    options = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    heads = options.pop("head_num", HEADS)
    layout = options.pop("input_layout", "BNSD")
    with pytest.raises(error, match=match):
        torch_npu.npu_fusion_attention(query, key, value, heads, layout, **options)
