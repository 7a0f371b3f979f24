"""What serving needs beside attention, against formulas in plain PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import torch_npu

HEADS, SIZE, BLOCK = 2, 32, 4


def finished(operator: Any, *arguments: Any, **options: Any) -> None:
    """Calls `operator` and waits for it, so that what its kernel refuses is raised here."""
    operator(*arguments, **options)
    torch.npu.synchronize()


def in_pieces(cache: torch.Tensor, piece: int) -> torch.Tensor:
    """(blocks, block size, ...) as (blocks, pieces, block size, piece)."""
    rows = cache.flatten(2)
    return rows.unflatten(2, (rows.shape[2] // piece, piece)).transpose(1, 2).contiguous()


@pytest.mark.parametrize("mode", ["Norm", None, "PA_NZ"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.int8])
@pytest.mark.parametrize("functional", [False, True])
def test_tokens_go_to_their_slots(mode: str | None, dtype: torch.dtype, functional: bool) -> None:
    torch.manual_seed(0)
    tokens = [torch.randint(-9, 9, (5, HEADS, size)).to(dtype) for size in (SIZE, 2 * SIZE)]
    slots = torch.tensor([7, 0, -1, 11, 4], dtype=torch.int32)
    caches = [torch.full((3, BLOCK, HEADS, t.shape[2]), 1).to(dtype) for t in tokens]
    wanted = []
    for cache, own in zip(caches, tokens, strict=True):
        want = cache.clone()
        for slot, token in zip(slots.tolist(), own, strict=True):
            if slot >= 0:
                want[slot // BLOCK, slot % BLOCK] = token
        wanted.append(want)
    if mode == "PA_NZ":
        caches, wanted = ([in_pieces(c, 16) for c in all_] for all_ in (caches, wanted))
    device = [c.npu() for c in caches]
    arguments = [*[t.npu() for t in tokens], *device, slots.npu()]
    if functional:
        out = torch_npu.npu_scatter_pa_kv_cache_functional(*arguments, cache_mode=mode)
        for cache, before in zip(device, caches, strict=True):
            assert torch.equal(cache.cpu(), before)
    else:
        assert torch_npu.npu_scatter_pa_kv_cache(*arguments, cache_mode=mode) is None
        out = device
    for cache, want in zip(out, wanted, strict=True):
        assert torch.equal(cache.cpu(), want)


def test_one_cache_takes_tokens_too() -> None:
    tokens, cache = torch.randn(2, HEADS, SIZE), torch.zeros(2, BLOCK, HEADS, SIZE, device="npu")
    slots = torch.tensor([5, 2], device="npu")
    out = torch_npu.npu_scatter_pa_cache(tokens.npu(), slots, key_cache=cache)
    assert out.data_ptr() == cache.data_ptr()
    assert torch.equal(cache.cpu()[[1, 0], [1, 2]], tokens)


def test_scatter_refuses_what_it_cannot_do() -> None:
    x, slots = torch.zeros(1, HEADS, SIZE, device="npu"), torch.zeros(1, dtype=torch.int32).npu()
    cache = torch.zeros(2, BLOCK, HEADS, SIZE, device="npu")
    with pytest.raises(NotImplementedError, match="the argument compress_lens"):
        torch_npu.npu_scatter_pa_kv_cache(x, x, cache, cache, slots, compress_lens=slots)
    with pytest.raises(RuntimeError, match="expected a token of 64 elements"):
        finished(
            torch_npu.npu_scatter_pa_kv_cache,
            x[..., :3].contiguous(),
            x,
            cache,
            cache,
            slots,
            cache_mode="Norm",
        )


@pytest.fixture
def private_formats() -> Iterator[None]:
    """The official torch_npu casts to a private format only where this is allowed."""
    torch.npu.config.allow_internal_format = True
    yield
    torch.npu.config.allow_internal_format = False


@pytest.mark.parametrize("pieces", [False, True])
@pytest.mark.parametrize("cumulative", [False, True])
@pytest.mark.parametrize("first", [None, [4, 0]])
@pytest.mark.usefixtures("private_formats")
def test_tokens_come_from_their_blocks(pieces: bool, cumulative: bool, first: Any) -> None:
    torch.manual_seed(0)
    caches = [torch.randn(5, BLOCK, HEADS, size) for size in (SIZE, 2 * SIZE)]
    table = torch.tensor([[3, 0, 2], [1, 9, 4]], dtype=torch.int32)
    lengths = [6, 9]
    wanted = [torch.zeros(15, HEADS, c.shape[3]) for c in caches]
    row = 0
    for i, length in enumerate(lengths):
        for j in range(length):
            entry = (first[i] // BLOCK if first else 0) + j // BLOCK
            block = int(table[i, entry]) if entry < 3 else -1
            if 0 <= block < 5:
                for want, cache in zip(wanted, caches, strict=True):
                    want[row] = cache[block, j % BLOCK]
            row += 1
    device = [in_pieces(c, 16).npu() if pieces else c.npu() for c in caches]
    if pieces:
        device = [torch_npu.npu_format_cast(c, torch_npu.Format.FRACTAL_NZ) for c in device]
    given = [0, 6, 15] if cumulative else lengths
    out = [torch.full_like(want, 7).npu() for want in wanted]
    torch_npu.npu_gather_pa_kv_cache(
        *device,
        table.npu(),
        torch.tensor(given, dtype=torch.int32, device="npu"),
        *out,
        seq_offset=None if first is None else torch.tensor(first, dtype=torch.int32, device="npu"),
        is_seq_lens_cumsum=cumulative,
    )
    for got, want in zip(out, wanted, strict=True):
        assert torch.equal(got.cpu(), want)


def test_gathering_into_new_tensors_leaves_the_arguments_alone() -> None:
    cache = torch.randn(2, BLOCK, HEADS, SIZE)
    table, length = torch.tensor([[1]], dtype=torch.int32), torch.tensor([2], dtype=torch.int32)
    into = torch.zeros(2, HEADS, SIZE, device="npu")
    key, value = torch_npu.npu_gather_pa_kv_cache_functional(
        cache.npu(), cache.npu(), table.npu(), length.npu(), into, into
    )
    assert not into.any()
    assert torch.equal(key.cpu(), cache[1, :2])
    assert torch.equal(value.cpu(), cache[1, :2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("update_type", [0, 1])
def test_parts_of_attention_join(dtype: torch.dtype, update_type: int) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(6, 8), torch.randn(9, 8), torch.randn(9, 8)
    sums, outs = [], []
    for keys, values in zip(key.split([2, 3, 4]), value.split([2, 3, 4]), strict=True):
        scores = query @ keys.t()
        sums.append(scores.logsumexp(1))
        outs.append((scores.softmax(1) @ values).to(dtype))
    out, lse = torch_npu.npu_attention_update(
        [s.npu() for s in sums], [o.npu() for o in outs], update_type
    )
    assert out.dtype == dtype
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    want = torch.softmax(query @ key.t(), 1) @ value
    torch.testing.assert_close(out.cpu().float(), want, atol=tolerance, rtol=tolerance)
    if update_type == 1:
        torch.testing.assert_close(lse.cpu(), (query @ key.t()).logsumexp(1))


def test_parts_that_do_not_fit_are_refused() -> None:
    lse, out = torch.zeros(3, device="npu"), torch.zeros(3, 8, device="npu")
    with pytest.raises(RuntimeError, match="as many lse as local_out"):
        torch_npu.npu_attention_update([lse, lse], [out], 0)
    with pytest.raises(RuntimeError, match="expected lse of"):
        torch_npu.npu_attention_update([lse, lse], [out, out[:2]], 0)


def delta_rule(state: torch.Tensor, token: int, scale: float, **x: Any) -> torch.Tensor:
    """One token of the document's formula for every head; changes the state."""
    out = []
    for head in range(state.shape[0]):
        key_head = head // (state.shape[0] // x["key"].shape[1])
        k, q = x["key"][token, key_head].double(), x["query"][token, key_head].double()
        decay = torch.ones(k.shape, dtype=torch.float64)
        if x.get("g") is not None:
            decay = decay * x["g"][token, head].double().exp()
        if x.get("gk") is not None:
            decay = decay * x["gk"][token, head].double().exp()
        own = state[head] * decay
        error = x["value"][token, head].double() - own @ k
        state[head] = own + x["beta"][token, head].double() * torch.outer(error, k)
        out.append(state[head] @ (q * scale))
    return torch.stack(out)


def delta_inputs(tokens: int, heads: int = 4, key_heads: int = 2) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    shapes = {"query": (key_heads, 8), "key": (key_heads, 8), "value": (heads, 6), "beta": (heads,)}
    x = {name: torch.rand(tokens, *shape).bfloat16() for name, shape in shapes.items()}
    for name in ("query", "key"):
        x[name] = torch.nn.functional.normalize(x[name], dim=-1)
    x["g"] = -torch.rand(tokens, heads)
    return x


def on_npu(x: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.npu() for name, tensor in x.items()}


@pytest.mark.parametrize("accepted", [None, [2, 1]])
@pytest.mark.parametrize("by_element", [False, True])
def test_recurrent_gated_delta_rule(accepted: Any, by_element: bool) -> None:
    x = delta_inputs(5)
    if by_element:
        x["gk"] = -torch.rand(5, 4, 8)
    state = torch.rand(7, 4, 6, 8).bfloat16()
    places, lengths = [6, 1, 0, 3, 2], [3, 2]
    want_state, want = state.clone(), torch.zeros(5, 4, 6, dtype=torch.float64)
    token = 0
    for i, length in enumerate(lengths):
        last = accepted[i] if accepted else 1
        own = state[places[token + last - 1]].double()
        for _ in range(length):
            want[token] = delta_rule(own, token, 0.5, **x)
            want_state[places[token]] = own.bfloat16()
            token += 1
    arguments = on_npu(x)
    tensors = [arguments.pop(name) for name in ("query", "key", "value")]
    options = {
        **arguments,
        "scale": 0.5,
        "actual_seq_lengths": torch.tensor(lengths, dtype=torch.int32, device="npu"),
        "ssm_state_indices": torch.tensor(places, dtype=torch.int32, device="npu"),
        "num_accepted_tokens": accepted and torch.tensor(accepted, dtype=torch.int32, device="npu"),
    }
    new, functional_state = torch_npu.npu_recurrent_gated_delta_rule_functional(
        *tensors, state.npu(), **options
    )
    own_state = state.npu()
    out = torch_npu.npu_recurrent_gated_delta_rule(*tensors, own_state, **options)
    assert out.dtype == torch.bfloat16
    for got, states in ((out, own_state), (new, functional_state)):
        torch.testing.assert_close(got.cpu(), want.bfloat16(), atol=2e-2, rtol=2e-2)
        torch.testing.assert_close(states.cpu(), want_state, atol=2e-2, rtol=2e-2)


def test_chunk_gated_delta_rule() -> None:
    x = delta_inputs(9)
    state = torch.rand(2, 4, 6, 8).bfloat16()
    want, own = torch.zeros(9, 4, 6, dtype=torch.float64), state.double()
    for token in range(9):
        want[token] = delta_rule(own[int(token >= 4)], token, 0.5, **x)
    arguments = on_npu(x)
    tensors = [arguments.pop(name) for name in ("query", "key", "value")]
    out, final = torch_npu.npu_chunk_gated_delta_rule(
        *tensors,
        **arguments,
        initial_state=state.npu(),
        actual_seq_lengths=torch.tensor([4, 5], dtype=torch.int32, device="npu"),
        scale=0.5,
    )
    torch.testing.assert_close(out.cpu(), want.bfloat16(), atol=2e-2, rtol=2e-2)
    torch.testing.assert_close(final.cpu(), own.bfloat16(), atol=2e-2, rtol=2e-2)


def test_delta_rule_needs_its_scale() -> None:
    x = on_npu(delta_inputs(2))
    state = torch.rand(2, 4, 6, 8, device="npu")
    with pytest.raises(RuntimeError, match="npu_recurrent_gated_delta_rule: expected scale"):
        torch_npu.npu_recurrent_gated_delta_rule(x["query"], x["key"], x["value"], state)


@pytest.mark.parametrize("layout", ["BSND", "SBND", "BNSD", "TND"])
@pytest.mark.parametrize("mode", ["half", "interleave", "quarter"])
def test_apply_rotary_pos_emb_turns_in_place(layout: str, mode: str) -> None:
    torch.manual_seed(0)
    shape = (3, 2, 8) if layout == "TND" else (2, 3, 2, 8)
    query, key = torch.randn(shape), torch.randn(shape)
    cos, sin = torch.randn(2, *shape)
    narrow = {"BNSD": 1}.get(layout, len(shape) - 2)
    cos, sin = cos.narrow(narrow, 0, 1), sin.narrow(narrow, 0, 1)

    def turned(x: torch.Tensor) -> torch.Tensor:
        if mode == "interleave":
            return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        parts = x.chunk(2 if mode == "half" else 4, -1)
        swapped = [(-b, a) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return torch.cat([part for pair in swapped for part in pair], -1)

    device = [query.npu(), key.npu()]
    out = torch_npu.npu_apply_rotary_pos_emb(
        *device, cos.npu(), sin.npu(), layout=layout, rotary_mode=mode
    )
    for got, same, x in zip(out, device, (query, key), strict=True):
        assert got.data_ptr() == same.data_ptr()
        torch.testing.assert_close(got.cpu(), x * cos + turned(x) * sin)


def test_apply_rotary_pos_emb_refuses_an_unknown_layout() -> None:
    x = torch.ones(1, 1, 1, 4, device="npu")
    with pytest.raises(ValueError, match="npu_apply_rotary_pos_emb: expected layout"):
        torch_npu.npu_apply_rotary_pos_emb(x, x, x, x, layout="DNSB")


@pytest.mark.parametrize("mode", ["half", "interleave"])
@pytest.mark.parametrize("sections", [None, [2, 1, 1], [1, 1, 1, 1]])
def test_mrope(mode: str, sections: Any) -> None:
    torch.manual_seed(0)
    tokens, head_size, pairs = 5, 12, 4
    query, key = torch.randn(tokens, 3 * head_size), torch.randn(tokens, head_size)
    cache = torch.randn(20, 2 * pairs)
    shape = (tokens,) if sections is None else (len(sections), tokens)
    positions = torch.randint(0, 20, shape)
    cos, sin = cache[positions].chunk(2, -1)
    if sections is not None:
        cos, sin = (
            torch.cat([m[i] for i, m in enumerate(x.split(sections, -1))], -1) for x in (cos, sin)
        )

    def rotated(x: torch.Tensor) -> torch.Tensor:
        heads = x.view(tokens, -1, head_size)
        rot, rest = heads[..., : 2 * pairs], heads[..., 2 * pairs :]
        a, b = rot.chunk(2, -1) if mode == "half" else (rot[..., ::2], rot[..., 1::2])
        c, s = cos.unsqueeze(1), sin.unsqueeze(1)
        one, two = a * c - b * s, b * c + a * s
        new = (
            torch.cat((one, two), -1) if mode == "half" else torch.stack((one, two), -1).flatten(2)
        )
        return torch.cat((new, rest), -1).view(x.shape)

    out = torch_npu.npu_mrope(
        positions.npu(),
        query.npu(),
        key.npu(),
        cache.npu(),
        head_size,
        mrope_section=sections,
        rotary_mode=mode,
    )
    for got, x in zip(out, (query, key), strict=True):
        torch.testing.assert_close(got.cpu(), rotated(x))


def test_mrope_refuses_what_it_cannot_do() -> None:
    x = torch.ones(2, 4, device="npu")
    positions = torch.zeros(3, 2, dtype=torch.int64, device="npu")
    with pytest.raises(NotImplementedError, match="npu_mrope: cache_mode 'interleave'"):
        torch_npu.npu_mrope(positions, x, x, x, 4, cache_mode="interleave")
    with pytest.raises(RuntimeError, match="mrope_section of 3 numbers"):
        finished(torch_npu.npu_mrope, positions, x, x, x, 4, mrope_section=[1, 1, 1])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_transposed_batch_product(compare: Any, turned: bool, parts: int) -> None:
    def reference(x: torch.Tensor, weight: torch.Tensor, **_: Any) -> torch.Tensor:
        product = ((x.transpose(0, 1) if turned else x) @ weight).transpose(0, 1)
        return product.reshape(3, parts, -1).transpose(0, 1) if parts > 1 else product

    torch.manual_seed(0)
    x = torch.randn((3, 4, 5) if turned else (4, 3, 5))
    compare(
        torch_npu.npu_transpose_batchmatmul,
        reference,
        x,
        torch.randn(4, 5, 6),
        perm_x1=[1, 0, 2] if turned else None,
        batch_split_factor=parts,
    )


def test_transposed_batch_product_refuses_quantisation() -> None:
    x = torch.ones(2, 3, 4, device="npu")
    with pytest.raises(NotImplementedError, match="npu_transpose_batchmatmul: the argument scale"):
        torch_npu.npu_transpose_batchmatmul(x, x.transpose(1, 2), scale=x)


def test_fake_tensors_have_the_outputs_sizes() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    def half(*shape: int) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.float16, device="npu")

    def whole(*shape: int) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.int64, device="npu")

    def shapes(outputs: Any) -> list[tuple[int, ...]]:
        return [tuple(output.shape) for output in outputs]

    with FakeTensorMode():
        key, cache = half(1, 2, 16), half(2, BLOCK, 2, 16)
        assert torch_npu.npu_scatter_pa_kv_cache(key, key, cache, cache, whole(1)) is None
        assert torch_npu.npu_scatter_pa_cache(key, whole(1), key_cache=cache) is cache
        gathered = torch_npu.npu_gather_pa_kv_cache_functional(
            cache, cache, whole(1, 2), whole(1), key, key
        )
        assert shapes(gathered) == [(1, 2, 16)] * 2
        joined = torch_npu.npu_attention_update([half(3)], [half(3, 8)], 1)
        assert shapes(joined) == [(3, 8), (3,)]
        rotated = torch_npu.npu_mrope(whole(5), half(5, 8), half(5, 4), half(9, 4), 4)
        assert shapes(rotated) == [(5, 8), (5, 4)]
        x, state = half(3, 2, 4), half(1, 2, 4, 4)
        options = {"beta": half(3, 2), "actual_seq_lengths": whole(1)}
        out, final = torch_npu.npu_chunk_gated_delta_rule(x, x, x, initial_state=state, **options)
        assert shapes((out, final)) == [(3, 2, 4), (1, 2, 4, 4)]
        assert out.dtype == torch.bfloat16
        product = torch_npu.npu_transpose_batchmatmul(
            half(4, 3, 5), half(4, 5, 6), batch_split_factor=2
        )
        assert product.shape == (2, 3, 12)


def test_a_product_is_added_to_float32() -> None:
    torch.manual_seed(0)
    x, weight, c = torch.randn(6, 3).half(), torch.randn(6, 5).half(), torch.randn(3, 5)
    device = c.npu()
    assert torch_npu._npu_matmul_add_fp32(x.npu(), weight.npu(), device) is None
    want = c + x.float().T @ weight.float()
    torch.testing.assert_close(device.cpu(), want)
    with pytest.raises(RuntimeError, match="float32"):
        finished(torch_npu._npu_matmul_add_fp32, x.npu(), weight.npu(), c.half().npu())
    with pytest.raises(RuntimeError, match="matrices that fit"):
        finished(torch_npu._npu_matmul_add_fp32, x.npu(), weight.npu(), c.T.npu())
