"""transformers: train a small GPT-2 with `Trainer` on npu, then let it generate.

The model starts from random weights and learns to count: each text goes up by 1, 2 or 3 from token
to token, modulo the vocabulary. `Trainer` finds `npu` by itself.

    python examples/ecosystem/transformers_trainer.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from against_cpu import Outcome, main
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

VOCABULARY, LENGTH, STEPS = 32, 16, 40


def texts(count: int) -> list[dict[str, torch.Tensor]]:
    """`count` texts of LENGTH tokens; the labels are the tokens themselves."""
    start = torch.randint(VOCABULARY, (count, 1))
    step = torch.randint(1, 4, (count, 1))
    tokens = (start + step * torch.arange(LENGTH)) % VOCABULARY
    return [{"input_ids": text, "labels": text} for text in tokens]


def train(device: str) -> Outcome:
    set_seed(0)
    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=LENGTH,
        n_embd=64,
        n_layer=2,
        n_head=4,
        # Random numbers of npu and CPU differ, so that dropout would make two different trainings.
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=None,
    )
    model = GPT2LMHeadModel(config)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=STEPS,
            per_device_train_batch_size=16,
            learning_rate=3e-3,
            logging_steps=1,
            save_steps=STEPS // 2,
            report_to="none",
            disable_tqdm=True,
            use_cpu=device == "cpu",
        )
        trainer = Trainer(model=model, args=arguments, train_dataset=texts(256))
        assert trainer.args.device.type == device, trainer.args.device
        trainer.train()
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]

        # What was saved half-way goes on to the same end.
        half = Path(folder) / f"checkpoint-{STEPS // 2}"
        resumed = Trainer(
            model=GPT2LMHeadModel(config), args=arguments, train_dataset=trainer.train_dataset
        )
        resumed.train(resume_from_checkpoint=str(half))
        assert abs(resumed.state.log_history[-2]["loss"] - losses[-1]) < 1e-4

    prompts = torch.tensor([[1, 2, 3, 4], [0, 2, 4, 6], [5, 8, 11, 14]], device=model.device)
    generated = model.generate(
        prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=8, do_sample=False
    )
    return Outcome(losses, generated.flatten().tolist())


if __name__ == "__main__":
    main(train)
