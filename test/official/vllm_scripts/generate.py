"""Offline inference with vllm: what a small model generates is what it generates on the CPU."""

from __future__ import annotations

import itertools
import tempfile
from typing import Any

import torch
import vllm_ascend.worker.block_table as block_table
from transformers import AutoModelForCausalLM, Qwen2Config
from vllm import LLM, SamplingParams

NEW_TOKENS = 12
PROMPTS = ([5, 6, 7, 8], list(range(20, 50)), [i * 7 % 250 + 2 for i in range(150)])


class SlotMapping:
    """Each token's slot in the cache; vllm has it as a kernel of Triton.

    softcann runs none: Triton for Ascend compiles for a card.
    """

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        requests = grid[0] - 1  # and one program that pads

        def run(
            tokens: int,
            most_tokens: int,
            starts: torch.Tensor,
            positions: torch.Tensor,
            blocks: torch.Tensor,
            _stride: int,
            block_size: int,
            slots: torch.Tensor,
            **options: int,
        ) -> None:
            assert options["TOTAL_CP_WORLD_SIZE"] == 1
            ends = starts[: requests + 1].tolist()
            for row, (first, last) in enumerate(itertools.pairwise(ends)):
                position = positions[first:last]
                block = blocks[row][position // block_size].to(slots.dtype)
                slots[first:last] = block * block_size + position % block_size
            slots[tokens:most_tokens] = options["PAD_ID"]

        return run


def save_model(folder: str) -> None:
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=256,
        hidden_size=256,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        bos_token_id=1,
        eos_token_id=0,
    )
    AutoModelForCausalLM.from_config(config).half().save_pretrained(folder)


def on_cpu(folder: str) -> list[list[int]]:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    options = {"max_new_tokens": NEW_TOKENS, "do_sample": False, "eos_token_id": None}
    return [
        model.generate(torch.tensor([prompt]), pad_token_id=0, **options)[0, len(prompt) :].tolist()
        for prompt in PROMPTS
    ]


def on_npu(folder: str) -> list[list[int]]:
    llm = LLM(
        model=folder,
        dtype="float16",
        enforce_eager=True,
        skip_tokenizer_init=True,
        max_model_len=256,
        max_num_seqs=4,
        max_num_batched_tokens=256,
        gpu_memory_utilization=0.05,
    )
    sampling = SamplingParams(
        temperature=0, max_tokens=NEW_TOKENS, ignore_eos=True, detokenize=False
    )
    results = llm.generate([{"prompt_token_ids": prompt} for prompt in PROMPTS], sampling)
    return [list(result.outputs[0].token_ids) for result in results]


if __name__ == "__main__":
    block_table._compute_slot_mapping_kernel = SlotMapping()
    with tempfile.TemporaryDirectory() as folder:
        save_model(folder)
        want = on_cpu(folder)
        got = on_npu(folder)
    assert got == want, (got, want)
    print(f"{len(PROMPTS)} prompts, {NEW_TOKENS} tokens each, as on the CPU: {got}")
