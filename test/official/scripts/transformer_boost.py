"""The namespace atb: Ascend Transformer Boost's operations, by libatb.so."""

import torch
from check import equal, raises

import torch_npu

HEADS, KEY_HEADS, SIZE, BLOCK, SCALE = 4, 2, 32, 16, 0.25
half = {"rtol": 2e-3, "atol": 2e-3}
torch.manual_seed(0)


def turned(x, cos, sin, neighbours):
    """Each head of (tokens, heads * SIZE), turned by the angles of its token."""
    heads = x.view(len(x), -1, SIZE)
    cos, sin = cos[:, None], sin[:, None]
    a, b = (heads[..., ::2], heads[..., 1::2]) if neighbours else heads.chunk(2, -1)
    pair = (a * cos - b * sin, b * cos + a * sin)
    new = torch.stack(pair, -1).flatten(2) if neighbours else torch.cat(pair, -1)
    return new.view(x.shape)


# Rotary positions, in place. The wheel keeps the first table that it is given.
table = torch.randn(20, SIZE)
positions = torch.tensor([4, 0, 17, 2])
for neox in (True, False):
    query, key = torch.randn(4, HEADS * SIZE), torch.randn(4, KEY_HEADS * SIZE)
    device = [query.npu(), key.npu()]
    torch_npu._npu_rotary_embedding(positions.npu(), *device, SIZE, table.npu(), neox)
    for got, x in zip(device, (query, key), strict=True):
        equal(got, turned(x, *table[positions].chunk(2, 1), not neox), f"rotary, neox {neox}")

# Keys and values go to their slots; a negative slot is none.
tokens = [torch.randn(5, KEY_HEADS, SIZE).half() for _ in range(2)]
caches = [torch.zeros(8, BLOCK, KEY_HEADS, SIZE).half() for _ in range(2)]
slots = torch.tensor([37, 0, -1, 127, 16], dtype=torch.int32)
device = [cache.npu() for cache in caches]
torch_npu._npu_reshape_and_cache(*[t.npu() for t in tokens], *device, slots.npu())
for cache, token in zip(caches, tokens, strict=True):
    cache.view(-1, KEY_HEADS, SIZE)[slots[slots >= 0].long()] = token[slots >= 0]
for got, want in zip(device, caches, strict=True):
    equal(got, want, "reshape_and_cache")
alone = torch.zeros_like(device[0])
torch_npu._npu_reshape_and_cache_siso(tokens[0].npu(), alone, slots.npu())
equal(alone, caches[0], "reshape_and_cache_siso")


def attend(query, key, value, bias=None):
    """(length, heads, size) by plain formulas, in float32."""
    q, k, v = (x.float().transpose(0, 1) for x in (query, key, value))
    k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
    scores = q @ k.mT * SCALE
    if bias is not None:
        scores = scores + bias
    return (scores.softmax(-1) @ v).transpose(0, 1)


# Packed sequences attend to themselves.
lengths = [3, 6]
packed = [torch.randn(9, heads, SIZE).half() for heads in (HEADS, KEY_HEADS, KEY_HEADS)]
causal = torch.triu(torch.full((6, 6), -10000.0), 1).half()
for mask in (None, causal):
    parts = zip(*[x.split(lengths) for x in packed], strict=True)
    want = torch.cat(
        [
            attend(*part, mask if mask is None else mask[:n, :n].float())
            for n, part in zip(lengths, parts, strict=True)
        ]
    )
    out = torch.zeros(9, HEADS, SIZE).half().npu()
    arguments = [x.npu() for x in packed] + ([] if mask is None else [mask.npu()])
    function = "_npu_flash_attention_unpad" if mask is None else "_npu_flash_attention"
    options = (torch.tensor(lengths, dtype=torch.int32), SCALE, HEADS, KEY_HEADS, out)
    getattr(torch_npu, function)(*arguments, *options)
    torch.testing.assert_close(out.float().cpu(), want, **half)

# One query a sequence, over a cache of blocks, with values of another size.
key_cache, value_cache = (
    torch.randn(8, BLOCK, KEY_HEADS, size).half() for size in (SIZE, SIZE // 2)
)
query = torch.randn(2, HEADS, SIZE).half()
table = torch.tensor([[5, 2], [7, 0]], dtype=torch.int32)
context = torch.tensor([20, 9], dtype=torch.int32)
want = torch.cat(
    [
        attend(
            query[i : i + 1],
            *(c[table[i].long()].flatten(0, 1)[:n] for c in (key_cache, value_cache)),
        )
        for i, n in enumerate(context.tolist())
    ]
)
out = torch.zeros(2, HEADS, SIZE // 2).half().npu()
given = [x.npu() for x in (query, key_cache, value_cache)]
paged = (KEY_HEADS, HEADS, SCALE, table.npu(), context, out)
torch_npu._npu_paged_attention(*given, *paged)
torch.testing.assert_close(out.float().cpu(), want, **half)
workspace = torch_npu._npu_paged_attention_get_workspace(*given, *paged)
again = torch.zeros_like(out)
torch_npu._npu_paged_attention(*given, *paged[:-1], again, workspace=workspace)
equal(again, out, "with a workspace")

# x^T w, added to float32.
x, w, c = torch.randn(6, 3).half(), torch.randn(6, 5).half(), torch.randn(3, 5)
device_c = c.npu()
torch_npu._npu_matmul_add_fp32(x.npu(), w.npu(), device_c)
equal(device_c, c + x.float().T @ w.float(), "matmul_add_fp32")

# What is not there is an error and not wrong numbers.
raises(
    "CreateOperation failed",
    lambda: torch_npu._npu_group_topk(torch.rand(2, 8).half().npu(), k=2, group_num=4),
)
