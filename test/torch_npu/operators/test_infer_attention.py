"""Attention for inference against attention in plain PyTorch."""

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

HEADS, KEY_HEADS, SIZE, BATCH = 4, 2, 16, 2
SCALE = 0.25


def inputs(queries: int = 5, keys: int = 7) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return (
        torch.randn(BATCH, HEADS, queries, SIZE),
        torch.randn(BATCH, KEY_HEADS, keys, SIZE),
        torch.randn(BATCH, KEY_HEADS, keys, SIZE),
    )


def expected(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, hidden: Any = None
) -> tuple[torch.Tensor, torch.Tensor]:
    results = [
        reference.attend(query[i], key[i], value[i], SCALE, hidden) for i in range(query.shape[0])
    ]
    return torch.stack([r[0] for r in results]), torch.stack([r[1] for r in results])


def triangle() -> torch.Tensor:
    return torch.triu(torch.ones(2048, 2048, dtype=torch.bool), 1)


def close(actual: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(actual.cpu(), wanted.to(actual.dtype), atol=1e-5, rtol=1e-5)


def fused(query: Any, key: Any, value: Any, version: int = 1, **options: Any) -> Any:
    """Both versions of the operator by the first one's argument names."""
    options = {"num_heads": HEADS, "num_key_value_heads": KEY_HEADS, "scale": SCALE, **options}
    options = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    if version == 1:
        return torch_npu.npu_fused_infer_attention_score(
            query.npu(), key.npu(), value.npu(), **options
        )
    names = {
        "num_heads": "num_query_heads",
        "scale": "softmax_scale",
        "softmax_lse_flag": "return_softmax_lse",
        "actual_seq_lengths": "actual_seq_qlen",
        "actual_seq_lengths_kv": "actual_seq_kvlen",
    }
    renamed = {names.get(k, k): v for k, v in options.items()}
    return torch_npu.npu_fused_infer_attention_score_v2(
        query.npu(), key.npu(), value.npu(), **renamed
    )


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "layout", ["BSH", "BSND", "BNSD", "BNSD_BSND", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD"]
)
def test_layouts(version: int, layout: str) -> None:
    tensors = inputs()
    source, _, target = layout.partition("_")
    out, lse = fused(
        *[reference.to_layout(t, source) for t in tensors],
        version,
        input_layout=layout,
        softmax_lse_flag=True,
    )
    want, sums = expected(*tensors)
    close(out, reference.to_layout(want, target or source))
    close(lse, sums.unsqueeze(-1))


@pytest.mark.covers("torch_npu.npu_fused_infer_attention_score")
def test_logsumexp_that_is_not_wanted_is_one_zero() -> None:
    _, lse = fused(*inputs(), input_layout="BNSD")
    assert torch.equal(lse.cpu(), torch.zeros(1))


@pytest.mark.parametrize("mode", [0, 1, 2, 3, 4])
def test_sparse_modes(mode: int) -> None:
    tensors = inputs(5, 7)
    full = torch.rand(5, 7) < 0.3
    limits = {"pre_tokens": 3, "next_tokens": 1} if mode in (0, 4) else {}
    hidden = reference.hidden(
        mode, 5, 7, full, limits.get("pre_tokens", 99), limits.get("next_tokens", 99)
    )
    out, _ = fused(
        *tensors,
        input_layout="BNSD",
        atten_mask=full.view(1, 1, 5, 7) if mode < 2 else triangle(),
        sparse_mode=mode,
        **limits,
    )
    close(out, expected(*tensors, hidden)[0])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("batch", [1, BATCH])
def test_position_bias_is_added_after_scaling(version: int, batch: int) -> None:
    query, key, value = inputs(5, 7)
    bias = torch.randn(batch, HEADS, 5, 7)
    out, _ = fused(query, key, value, version, input_layout="BNSD", pse_shift=bias)
    for i in range(BATCH):
        want, _ = reference.attend(
            query[i], key[i], value[i], SCALE, bias=bias[i % batch], bias_scaled=False
        )
        close(out[i], want)


@pytest.mark.parametrize("shape", [(5, 7), (BATCH, 5, 7), (BATCH, 1, 5, 7)])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.uint8])
def test_masks_for_all_and_for_each_sequence(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    query, key, value = inputs(5, 7)
    mask = torch.rand(shape) < 0.3
    out, _ = fused(query, key, value, input_layout="BNSD", atten_mask=mask.to(dtype))
    for i in range(BATCH):
        own = mask if mask.dim() == 2 else mask[i].view(5, 7)
        close(out[i], reference.attend(query[i], key[i], value[i], SCALE, own)[0])


def test_lengths_of_each_sequence() -> None:
    query, key, value = inputs(5, 7)
    out, _ = fused(
        query,
        key,
        value,
        input_layout="BNSD",
        actual_seq_lengths=[5, 2],
        actual_seq_lengths_kv=[3, 7],
    )
    close(out[0], reference.attend(query[0], key[0, :, :3], value[0, :, :3], SCALE)[0])
    close(out[1, :, :2], reference.attend(query[1, :, :2], key[1], value[1], SCALE)[0])
    assert torch.equal(out[1, :, 2:].cpu(), torch.zeros(HEADS, 3, SIZE))


def paged(
    batch: torch.Tensor, block: int, form: str, table: torch.Tensor, lengths: list[int]
) -> torch.Tensor:
    """A cache that holds `batch` (batch, heads, length, size) in the blocks of `table`."""
    blocks = int(table.max()) + 1
    cache = torch.full((blocks, block, KEY_HEADS, SIZE), float("nan"))
    for i, length in enumerate(lengths):
        for token in range(length):
            cache[table[i, token // block], token % block] = batch[i, :, token]
    if form == "BnNBsD":
        return cache.transpose(1, 2).contiguous()
    if form == "NZ":
        return cache.unflatten(3, (SIZE // 16, 16)).permute(0, 2, 3, 1, 4).contiguous()
    return cache.flatten(2) if form == "BnBsH" else cache


@pytest.mark.parametrize("form", ["BnBsH", "BnBsND", "BnNBsD", "NZ"])
@pytest.mark.parametrize("queries", [1, 3])
def test_blocks_of_a_paged_cache(form: str, queries: int) -> None:
    query, key, value = inputs(queries, 7)
    table = torch.tensor([[3, 1], [0, 4]], dtype=torch.int32)
    lengths = [7, 5]
    out, _ = fused(
        query,
        paged(key, 4, form, table, lengths),
        paged(value, 4, form, table, lengths),
        input_layout="BNSD",
        block_table=table,
        block_size=4,
        actual_seq_lengths_kv=lengths,
    )
    for i, length in enumerate(lengths):
        close(
            out[i], reference.attend(query[i], key[i, :, :length], value[i, :, :length], SCALE)[0]
        )


def test_packed_queries_over_a_paged_cache_with_a_causal_mask() -> None:
    query, key, value = inputs(3, 7)
    table = torch.tensor([[3, 1], [0, 4]], dtype=torch.int32)
    keys, queries = [7, 5], [3, 2]
    packed = torch.cat([query[i, :, : queries[i]].transpose(0, 1) for i in range(BATCH)])
    out, lse = fused(
        packed,
        paged(key, 4, "BnBsH", table, keys),
        paged(value, 4, "BnBsH", table, keys),
        input_layout="TND",
        block_table=table,
        block_size=4,
        actual_seq_lengths=[3, 5],
        actual_seq_lengths_kv=keys,
        sparse_mode=3,
        atten_mask=triangle(),
        softmax_lse_flag=True,
    )
    first = 0
    for i in range(BATCH):
        hidden = reference.hidden(3, queries[i], keys[i], triangle())
        want, sums = reference.attend(
            query[i, :, : queries[i]], key[i, :, : keys[i]], value[i, :, : keys[i]], SCALE, hidden
        )
        close(out[first : first + queries[i]], want.transpose(0, 1))
        close(lse[first : first + queries[i], :, 0], sums.t())
        first += queries[i]


@pytest.mark.parametrize("layout", ["TND", "TND_NTD", "NTD_TND"])
def test_packed_layouts(layout: str) -> None:
    query, key, value = inputs(3, 7)
    packed = [
        torch.cat([query[0, :, :1], query[1]], 1),
        torch.cat([key[0, :, :4], key[1]], 1),
        torch.cat([value[0, :, :4], value[1]], 1),
    ]
    if layout.startswith("TND"):
        packed = [t.transpose(0, 1).contiguous() for t in packed]
    out, _ = fused(
        *packed, input_layout=layout, actual_seq_lengths=[1, 4], actual_seq_lengths_kv=[4, 11]
    )
    want = torch.cat(
        [
            reference.attend(query[0, :, :1], key[0, :, :4], value[0, :, :4], SCALE)[0],
            reference.attend(query[1], key[1], value[1], SCALE)[0],
        ],
        1,
    )
    close(out, want if layout.endswith("NTD") else want.transpose(0, 1))


def test_rope_part_continues_query_and_key() -> None:
    query, key, value = inputs(3, 5)
    query_rope = torch.randn(BATCH, HEADS, 3, 8)
    key_rope = torch.randn(BATCH, KEY_HEADS, 5, 8)
    out, _ = fused(query, key, value, input_layout="BNSD", query_rope=query_rope, key_rope=key_rope)
    close(
        out, expected(torch.cat([query, query_rope], -1), torch.cat([key, key_rope], -1), value)[0]
    )


def test_sink_takes_part_in_the_sum() -> None:
    query, key, value = inputs(3, 5)
    sink = torch.randn(HEADS)
    out, _ = fused(query, key, value, 2, input_layout="BNSD", learnable_sink=sink)
    want, sums = expected(query, key, value)
    share = torch.sigmoid(sums - sink.view(1, HEADS, 1)).unsqueeze(-1)
    close(out, want * share)


@pytest.mark.parametrize("version", [1, 2])
def test_outputs_and_workspace_of_the_caller(version: int) -> None:
    query, key, value = [t.npu() for t in inputs()]
    name = f"npu_fused_infer_attention_score{'' if version == 1 else '_v2'}"
    options: dict[str, Any] = {"input_layout": "BNSD", "num_key_value_heads": KEY_HEADS}
    options |= (
        {"num_heads": HEADS, "scale": SCALE}
        if version == 1
        else {"num_query_heads": HEADS, "softmax_scale": SCALE}
    )
    workspace = getattr(torch_npu, f"_{name}_get_max_workspace")(query, key, value, **options)
    out, lse = torch.empty_like(query), torch.empty(1, device="npu")
    getattr(torch_npu, name).out(query, key, value, **options, workspace=workspace, out=[out, lse])
    close(out, expected(query.cpu(), key.cpu(), value.cpu())[0])
    with pytest.raises(RuntimeError, match="attention_out"):
        getattr(torch_npu, name).out(query, key, value, **options, out=[out[:1], lse])


@pytest.mark.covers("torch_npu.npu_prompt_flash_attention")
def test_prompt_attention() -> None:
    tensors = inputs()
    out = torch_npu.npu_prompt_flash_attention(
        *[reference.to_layout(t, "BSH").npu() for t in tensors],
        num_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        scale_value=SCALE,
        input_layout="BSH",
        atten_mask=triangle().npu(),
        sparse_mode=2,
    )
    hidden = reference.hidden(2, 5, 7, triangle())
    close(out, reference.to_layout(expected(*tensors, hidden)[0], "BSH"))


@pytest.mark.covers("torch_npu.npu_incre_flash_attention")
def test_incremental_attention() -> None:
    query, key, value = inputs(1, 7)
    out = torch_npu.npu_incre_flash_attention(
        query.npu(),
        key.npu(),
        value.npu(),
        num_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        scale_value=SCALE,
        input_layout="BNSD",
        actual_seq_lengths=[7, 4],
    )
    close(out[0], reference.attend(query[0], key[0], value[0], SCALE)[0])
    close(out[1], reference.attend(query[1], key[1, :, :4], value[1, :, :4], SCALE)[0])


def test_incremental_attention_over_a_paged_cache() -> None:
    query, key, value = inputs(1, 7)
    table = torch.tensor([[3, 1], [0, 4]], dtype=torch.int32)
    lengths = [7, 5]
    out = torch_npu.npu_incre_flash_attention(
        query.npu(),
        paged(key, 4, "BnBsH", table, lengths).npu(),
        paged(value, 4, "BnBsH", table, lengths).npu(),
        num_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        scale_value=SCALE,
        input_layout="BNSD",
        actual_seq_lengths=lengths,
        block_table=table.npu(),
        block_size=4,
    )
    for i, length in enumerate(lengths):
        close(
            out[i], reference.attend(query[i], key[i, :, :length], value[i, :, :length], SCALE)[0]
        )


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"quant_scale1": torch.ones(1)}, NotImplementedError, "argument quant_scale1"),
        ({"key_antiquant_scale": torch.ones(1)}, RuntimeError, "int8"),
        ({"quant_scale2": torch.ones(3)}, RuntimeError, "to quantise the output"),
        ({"num_heads": 3}, RuntimeError, "heads"),
        ({"input_layout": "XYZ"}, (ValueError, RuntimeError), "layout"),
        ({"query_rope": torch.ones(2, 4, 5, 8)}, RuntimeError, "query_rope and key_rope"),
        ({"actual_seq_lengths_kv": [9, 9]}, RuntimeError, "lengths"),
        (
            {"sparse_mode": 7, "atten_mask": torch.zeros(5, 7).bool()},
            NotImplementedError,
            "sparse_mode 7",
        ),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        fused(*inputs(), **{"input_layout": "BNSD", **options})


def stored(x: torch.Tensor, scale: torch.Tensor, offset: torch.Tensor | None) -> torch.Tensor:
    """Numbers in int8 that stand for about x: (number + offset) * scale."""
    shift = 0 if offset is None else offset
    return (x / scale - shift).round().clamp(-128, 127).to(torch.int8)


def worth(numbers: torch.Tensor, scale: torch.Tensor, offset: torch.Tensor | None) -> torch.Tensor:
    return (numbers.float() + (0 if offset is None else offset)) * scale


# Sizes as the documents give them, seen from (batch, key heads, keys, size).
QUANT_MODES = {
    "channel": (0, (1, KEY_HEADS, 1, SIZE), (1, KEY_HEADS, 1, SIZE)),
    "channel (N, D)": (0, (KEY_HEADS, SIZE), (1, KEY_HEADS, 1, SIZE)),
    "channel (H)": (0, (KEY_HEADS * SIZE,), (1, KEY_HEADS, 1, SIZE)),
    "tensor": (0, (1,), (1, 1, 1, 1)),
    "token": (1, (BATCH, 7), (BATCH, 1, 7, 1)),
    "token (1, B, S)": (1, (1, BATCH, 7), (BATCH, 1, 7, 1)),
    "head": (2, (KEY_HEADS,), (1, KEY_HEADS, 1, 1)),
    "token and head": (3, (BATCH, KEY_HEADS, 7), (BATCH, KEY_HEADS, 7, 1)),
}


def quantised(mode: str, shifted: bool) -> tuple[Any, list[Any], dict[str, torch.Tensor]]:
    """A query, keys and values in int8 and what they stand for, and the scales in mode's shape."""
    query, *plain = inputs()
    number, shape, broad = QUANT_MODES[mode]
    numbers, values, options = [], [], {}
    for name, x in zip(("key", "value"), plain, strict=True):
        scale = torch.rand(broad) * 0.05 + 0.02
        offset = torch.randint(-3, 4, broad).float() if shifted else None
        numbers.append(stored(x, scale, offset))
        values.append(worth(numbers[-1], scale, offset))
        options[f"{name}_antiquant_scale"] = scale.reshape(shape)
        if offset is not None:
            options[f"{name}_antiquant_offset"] = offset.reshape(shape)
    modes = {"key_antiquant_mode": number, "value_antiquant_mode": number}
    return (query, *numbers), [query, *values], {**options, **modes}


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("mode", list(QUANT_MODES))
def test_keys_and_values_in_int8(mode: str, shifted: bool) -> None:
    tensors, plain, options = quantised(mode, shifted)
    out, _ = fused(*tensors, input_layout="BNSD", **options)
    close(out, expected(*plain)[0])


def test_version_2_names_the_scales_otherwise() -> None:
    tensors, plain, options = quantised("token", True)
    names = {"antiquant_scale": "dequant_scale", "antiquant_offset": "dequant_offset"}
    renamed = {}
    for name, value in options.items():
        part, _, rest = name.partition("_")
        renamed[f"{part}_quant_mode" if "mode" in rest else f"{names[rest]}_{part}"] = value
    out, _ = fused(*tensors, 2, input_layout="BNSD", **renamed)
    close(out, expected(*plain)[0])


@pytest.mark.parametrize("shape", [(KEY_HEADS, 1, SIZE), (KEY_HEADS * SIZE,), ()])
def test_scales_of_keys_and_values_in_one_tensor(shape: tuple[int, ...]) -> None:
    query, key, value = inputs(1)
    broad = (1, KEY_HEADS, 1, SIZE) if shape else (1, 1, 1, 1)
    scales = [torch.rand(broad) * 0.05 + 0.02 for _ in range(2)]
    offsets = [torch.randint(-3, 4, broad).float() for _ in range(2)]
    numbers = [stored(x, *s) for x, *s in zip((key, value), scales, offsets, strict=True)]
    plain = [worth(x, *s) for x, *s in zip(numbers, scales, offsets, strict=True)]
    options = {
        "antiquant_scale": torch.stack([s.reshape(shape) for s in scales]),
        "antiquant_offset": torch.stack([o.reshape(shape) for o in offsets]),
    }
    want = expected(query, *plain)[0]
    close(fused(query, *numbers, input_layout="BNSD", **options)[0], want)
    out = torch_npu.npu_incre_flash_attention(
        query.npu(),
        *[x.npu() for x in numbers],
        num_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        scale_value=SCALE,
        input_layout="BNSD",
        **{name: value.npu() for name, value in options.items()},
    )
    close(out, want)


@pytest.mark.parametrize("by_head", [False, True])
def test_paged_caches_in_int8_with_scales_in_blocks(by_head: bool) -> None:
    query, key, value = inputs(1, 8)
    blocks = torch.tensor([[4, 1], [0, 3]], dtype=torch.int32)
    caches, scales, plain = [], [], []
    for x in (key, value):
        scale = torch.rand(BATCH, KEY_HEADS if by_head else 1, 8, 1) * 0.05 + 0.02
        numbers = stored(x, scale, None)
        plain.append(worth(numbers, scale, None))
        cache = torch.zeros(5, KEY_HEADS, 4, SIZE, dtype=torch.int8)
        own = torch.zeros(5, scale.shape[1], 4)
        for i in range(BATCH):
            for j, block in enumerate(blocks[i].tolist()):
                cache[block] = numbers[i, :, 4 * j : 4 * j + 4]
                own[block] = scale[i, :, 4 * j : 4 * j + 4, 0]
        caches.append(cache)
        scales.append(own if by_head else own[:, 0])
    out, _ = fused(
        query,
        *caches,
        input_layout="BNSD",
        block_table=blocks,
        block_size=4,
        actual_seq_lengths_kv=[6, 8],
        key_antiquant_scale=scales[0],
        value_antiquant_scale=scales[1],
        key_antiquant_mode=5 if by_head else 4,
        value_antiquant_mode=5 if by_head else 4,
    )
    for i, length in enumerate((6, 8)):
        own = [x[i, :, :length] for x in plain]
        close(out[i], reference.attend(query[i], *own, SCALE)[0])


def test_int4_keys_and_values_are_packed_in_int32() -> None:
    query, *_ = inputs(1)
    numbers = torch.randint(-8, 8, (2, BATCH, KEY_HEADS, 7, SIZE))
    nibbles = (numbers & 15).unflatten(-1, (SIZE // 8, 8))
    packed = (nibbles << torch.arange(0, 32, 4)).sum(-1)
    packed = torch.where(packed >= 2**31, packed - 2**32, packed).to(torch.int32)
    scale = torch.rand(2, 1, KEY_HEADS, 1, SIZE)
    out, _ = fused(
        query,
        packed[0],
        packed[1],
        input_layout="BNSD",
        key_antiquant_scale=scale[0],
        value_antiquant_scale=scale[1],
    )
    close(out, expected(query, *(numbers * scale))[0])


@pytest.mark.parametrize("layout", ["BNSD", "BSH"])
@pytest.mark.parametrize("by_channel", [False, True])
def test_output_in_int8(layout: str, by_channel: bool) -> None:
    tensors = inputs()
    shape = (HEADS, 1, SIZE) if by_channel else (1,)
    scale, offset = torch.rand(shape) * 40 + 20, torch.randint(-5, 5, shape).float()
    options = {"quant_scale2": scale.flatten(), "quant_offset2": offset.flatten()}
    out, _ = fused(
        *[reference.to_layout(t, layout) for t in tensors], input_layout=layout, **options
    )
    assert out.dtype == torch.int8
    want = (expected(*tensors)[0] * scale + offset).clamp(-128, 127)
    near = reference.to_layout(want, layout)
    assert (out.cpu() - near).abs().max() <= 0.5 + 1e-4


@pytest.mark.parametrize("layout", ["BSND", "BSH", "TND"])
def test_query_in_int8_with_rotary_parts(layout: str) -> None:
    """All in int8: a scale of the query for each token and head, one of all keys, one of values."""
    torch.manual_seed(0)
    lengths = [3, 5]
    shape = (sum(lengths), HEADS, SIZE) if layout == "TND" else (BATCH, 5, HEADS, SIZE)
    numbers = [
        torch.randint(-128, 128, (*shape[:-2], n, SIZE), dtype=torch.int8) for n in (HEADS, 1, 1)
    ]
    rope = [torch.randn(*shape[:-2], n, 4).bfloat16() for n in (HEADS, 1)]
    query_scale = torch.rand(shape[:-1]) * 0.02
    key_scale, value_scale = torch.tensor([0.02]), torch.tensor([0.03])
    plain = [
        torch.cat((numbers[0] * query_scale.unsqueeze(-1), rope[0].float()), -1),
        torch.cat((numbers[1] * key_scale, rope[1].float()), -1),
        numbers[2] * value_scale,
    ]

    def given(x: torch.Tensor) -> torch.Tensor:
        return x.flatten(2) if layout == "BSH" else x

    options = {"actual_seq_lengths": [3, 8], "actual_seq_lengths_kv": [3, 8]}
    out, _ = fused(
        *[given(x) for x in numbers],
        2,
        input_layout=layout,
        num_key_value_heads=1,
        query_rope=given(rope[0]),
        key_rope=given(rope[1]),
        dequant_scale_query=query_scale,
        dequant_scale_key=key_scale,
        dequant_scale_value=value_scale,
        query_quant_mode=3,
        **(options if layout == "TND" else {}),
    )
    assert out.dtype == torch.bfloat16
    parts = [x.split(lengths) if layout == "TND" else x for x in plain]
    results = [
        reference.attend(*[x.transpose(0, 1) for x in own], SCALE)[0].transpose(0, 1)
        for own in zip(*parts, strict=True)
    ]
    want = torch.cat(results) if layout == "TND" else given(torch.stack(results))
    torch.testing.assert_close(out.cpu().float(), want.float(), atol=2e-2, rtol=2e-2)


def test_tokens_may_lie_at_the_end_of_their_rows() -> None:
    query, key, value = inputs(5, 7)
    out, _ = fused(
        query,
        key,
        value,
        input_layout="BNSD",
        actual_seq_lengths=[2, 4],
        actual_seq_lengths_kv=[3, 6],
        query_padding_size=torch.tensor([1]),
        kv_padding_size=torch.tensor([0]),
    )
    for i, (queries, keys) in enumerate(((2, 3), (4, 6))):
        own = query[i, :, 4 - queries : 4], key[i, :, 7 - keys :], value[i, :, 7 - keys :]
        want = torch.zeros(HEADS, 5, SIZE)
        want[:, 4 - queries : 4] = reference.attend(*own, SCALE)[0].float()
        close(out[i], want)


@pytest.mark.parametrize("layout", ["BNSD", "BSH"])
def test_shared_prefix_precedes_every_sequence(layout: str) -> None:
    query, key, value = inputs()
    prefix = torch.randn(2, 1, KEY_HEADS, 4, SIZE)
    out, _ = fused(
        *[reference.to_layout(t, layout) for t in (query, key, value)],
        input_layout=layout,
        key_shared_prefix=reference.to_layout(prefix[0], layout),
        value_shared_prefix=reference.to_layout(prefix[1], layout),
        actual_shared_prefix_len=[3],
    )
    own = [
        torch.cat((p[:, :, :3].expand(BATCH, -1, -1, -1), x), 2)
        for p, x in zip(prefix, (key, value), strict=True)
    ]
    close(out, reference.to_layout(expected(query, *own)[0], layout))


def test_fake_tensors_have_the_outputs_sizes() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        query = torch.empty(6, HEADS, SIZE, device="npu")
        cache = torch.empty(9, 4, KEY_HEADS * SIZE, device="npu")
        out, lse = torch_npu.npu_fused_infer_attention_score(
            query,
            cache,
            cache,
            num_heads=HEADS,
            num_key_value_heads=KEY_HEADS,
            input_layout="TND",
            block_table=torch.empty(2, 2, dtype=torch.int32, device="npu"),
            block_size=4,
            actual_seq_lengths=[2, 6],
            actual_seq_lengths_kv=[5, 6],
            softmax_lse_flag=True,
        )
    assert out.shape == query.shape
    assert lse.shape == (6, HEADS, 1)


def test_paged_attention_of_one_token_for_each_sequence() -> None:
    query, key, value = inputs(1, 7)
    table = torch.tensor([[3, 1], [0, 4]], dtype=torch.int32)
    lengths = [7, 5]
    out = torch.empty(BATCH, HEADS, SIZE, device="npu")
    arguments = (
        query[:, :, 0].npu(),
        paged(key, 4, "BnBsND", table, lengths).npu(),
        paged(value, 4, "BnBsND", table, lengths).npu(),
        KEY_HEADS,
        HEADS,
        SCALE,
        table.npu(),
        torch.tensor(lengths, dtype=torch.int32),
        out,
    )
    workspace = torch_npu._npu_paged_attention_get_workspace(*arguments)
    torch_npu._npu_paged_attention(*arguments, workspace=workspace)
    for i, length in enumerate(lengths):
        want, _ = reference.attend(query[i], key[i, :, :length], value[i, :, :length], SCALE)
        close(out[i], want[:, 0])
    with pytest.raises(RuntimeError, match="_npu_paged_attention: expected out like the query"):
        torch_npu._npu_paged_attention(*arguments[:-1], out[:1])
