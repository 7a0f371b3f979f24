"""peft: fine-tune a frozen Llama with LoRA on npu, save the adapter and load it again.

The base model has random weights and is never changed: only the adapters, two small matrices a
layer, and the output layer learn to count as in transformers_trainer.py.

    python examples/ecosystem/peft_lora.py
"""

from __future__ import annotations

import tempfile

import torch
from against_cpu import Outcome, main
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, set_seed

VOCABULARY, LENGTH, STEPS = 32, 12, 30


def build_base() -> LlamaForCausalLM:
    """The same random Llama at every call."""
    set_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH * 2,
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config)


def batch(count: int) -> torch.Tensor:
    """Texts (count, LENGTH) that go up by 1 or 2 from token to token."""
    start = torch.randint(VOCABULARY, (count, 1))
    step = torch.randint(1, 3, (count, 1))
    return (start + step * torch.arange(LENGTH)) % VOCABULARY


def train(device: str) -> Outcome:
    base = build_base()
    adapters = LoraConfig(
        r=8,
        lora_alpha=32,
        target_modules=["q_proj", "v_proj", "gate_proj", "up_proj", "down_proj"],
        modules_to_save=["lm_head"],
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(base, adapters).to(device)
    frozen = base.model.embed_tokens.weight.detach().clone()
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)

    losses = []
    for _ in range(STEPS):
        tokens = batch(16).to(device)
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    assert torch.equal(frozen, base.model.embed_tokens.weight), "the base model has changed"

    prompt = batch(2)[:, :6].to(device)
    model.eval()
    with torch.no_grad():
        answers = model(prompt).logits[:, -1]
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        loaded = PeftModel.from_pretrained(build_base().to(device), folder)
    merged = loaded.merge_and_unload()
    with torch.no_grad():
        torch.testing.assert_close(merged(prompt).logits[:, -1], answers, atol=1e-3, rtol=1e-3)
    return Outcome(torch.stack(losses).tolist(), answers.flatten().tolist())


if __name__ == "__main__":
    main(train)
