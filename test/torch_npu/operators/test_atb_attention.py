"""Attention of packed sequences and rotary positions of the namespace atb."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
import torch

import torch_npu

_SPEC = importlib.util.spec_from_file_location(
    "attention_reference", pathlib.Path(__file__).with_name("attention_reference.py")
)
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)

HEADS, KEY_HEADS, SIZE, SCALE = 4, 2, 16, 0.25


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_sequences_attend_to_themselves(merged: bool, masked: bool) -> None:
    torch.manual_seed(0)
    lengths = [3, 6]
    tensors = [torch.randn(9, n, SIZE) for n in (HEADS, KEY_HEADS, KEY_HEADS)]
    bias = torch.triu(torch.full((6, 6), -10000.0), 1)
    parts = zip(*[t.transpose(0, 1).split(lengths, 1) for t in tensors], strict=True)
    want = [
        reference.attend(*part, SCALE, bias=bias[:n, :n] if masked else None, bias_scaled=False)[
            0
        ].transpose(0, 1)
        for n, part in zip(lengths, parts, strict=True)
    ]
    given = [t.flatten(1) if merged else t for t in tensors]
    out = torch.zeros_like(given[0]).npu()
    options = [torch.tensor(lengths, dtype=torch.int32), SCALE, HEADS, KEY_HEADS, out]
    if masked:
        torch_npu._npu_flash_attention(*[t.npu() for t in (*given, bias)], *options)
    else:
        torch_npu._npu_flash_attention_unpad(*[t.npu() for t in given], *options)
    close = {"atol": 1e-5, "rtol": 1e-5}
    torch.testing.assert_close(out.cpu(), torch.cat(want).float().view(out.shape), **close)


def test_a_mask_that_hides_is_refused() -> None:
    x = torch.zeros(2, 1, 4, device="npu")
    mask = torch.ones(2, 2, dtype=torch.bool, device="npu")
    with pytest.raises(RuntimeError, match="a mask that is added"):
        torch_npu._npu_flash_attention(x, x, x, mask, torch.tensor([2]), 1.0, 1, 1, x)


@pytest.mark.parametrize("neox", [False, True])
@pytest.mark.parametrize("rotary", [SIZE, 8])
def test_rotary_embedding_turns_in_place(neox: bool, rotary: int) -> None:
    torch.manual_seed(0)
    positions = torch.tensor([[4, 0, 2]])
    cache = torch.randn(6, rotary)
    query, key = torch.randn(3, HEADS * SIZE), torch.randn(3, KEY_HEADS, SIZE)
    cos, sin = (x.unsqueeze(1) for x in cache[positions[0]].chunk(2, 1))

    def turned(x: torch.Tensor) -> torch.Tensor:
        heads = x.reshape(3, -1, SIZE).clone()
        turning = heads[..., :rotary]
        a, b = turning.chunk(2, -1) if neox else (turning[..., ::2], turning[..., 1::2])
        first, second = a * cos - b * sin, b * cos + a * sin
        new = (
            torch.cat((first, second), -1) if neox else torch.stack((first, second), -1).flatten(2)
        )
        heads[..., :rotary] = new
        return heads.view(x.shape)

    device = [query.npu(), key.npu()]
    torch_npu._npu_rotary_embedding(positions.npu(), *device, SIZE, cache.npu(), neox)
    for got, x in zip(device, (query, key), strict=True):
        torch.testing.assert_close(got.cpu(), turned(x))


def test_the_operators_are_there_without_being_loaded() -> None:
    from torch_npu.op_plugin.atb._atb_ops import _register_atb_extensions

    _register_atb_extensions()
    assert torch_npu._npu_rotary_embedding is torch.ops.atb._npu_rotary_embedding
