"""Small random models of transformers: three training steps and greedy generation, as on the CPU.

Attention is each model's default, weights are made here, and dropout is off, because the random
numbers of `npu` and CPU differ. The models that take longest are marked `full`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="`make test` installs transformers")

pytestmark = pytest.mark.timeout(1800)

VOCABULARY, LENGTH = 64, 12

# What configurations of language models share; each takes those of these names that it knows.
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "bos_token_id": 0,
    "eos_token_id": None,
    "pad_token_id": 0,
}

Inputs = dict[str, torch.Tensor]
Made = tuple[Any, Inputs]


def tokens(*shape: int) -> torch.Tensor:
    return torch.randint(1, VOCABULARY, shape)


def language(name: str, **options: Any) -> Made:
    """A causal language model, and a batch that it is to predict."""
    config = getattr(transformers, f"{name}Config")(**(SIZES | options))
    text = tokens(2, LENGTH)
    return transformers.AutoModelForCausalLM.from_config(config), {
        "input_ids": text,
        "labels": text,
    }


def gpt2() -> Made:
    off = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return language("GPT2", n_positions=64, n_embd=32, n_layer=2, n_head=4, **off)


def qwen3_moe() -> Made:
    return language(
        "Qwen3Moe",
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=32,
        mlp_only_layers=[],
    )


def mamba() -> Made:
    return language("Mamba", state_size=4)


def bert() -> Made:
    config = transformers.BertConfig(
        **SIZES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    text = tokens(2, LENGTH)
    return transformers.BertForMaskedLM(config), {"input_ids": text, "labels": text}


def t5() -> Made:
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=0,
        eos_token_id=None,
    )
    model = transformers.T5ForConditionalGeneration(config)
    return model, {"input_ids": tokens(2, LENGTH), "labels": tokens(2, 6)}


def vit() -> Made:
    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        image_size=16,
        patch_size=4,
        num_labels=3,
    )
    model = transformers.ViTForImageClassification(config)
    return model, {"pixel_values": torch.randn(2, 3, 16, 16), "labels": torch.tensor([0, 2])}


def resnet() -> Made:
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=3
    )
    model = transformers.ResNetForImageClassification(config)
    return model, {"pixel_values": torch.randn(4, 3, 32, 32), "labels": torch.tensor([0, 2, 1, 1])}


def clip() -> Made:
    part = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    text = {**part, "vocab_size": VOCABULARY, "eos_token_id": VOCABULARY - 1, "bos_token_id": 0}
    image = {**part, "image_size": 16, "patch_size": 4}
    config = transformers.CLIPConfig(text_config=text, vision_config=image, projection_dim=16)
    words = tokens(2, LENGTH)
    words[:, -1] = VOCABULARY - 1
    inputs = {"input_ids": words, "pixel_values": torch.randn(2, 3, 16, 16)}
    return _WithContrastiveLoss(transformers.CLIPModel(config)), inputs


class _WithContrastiveLoss(torch.nn.Module):
    """Asks CLIP for its loss, which it computes only when told to."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, **inputs: torch.Tensor) -> Any:
        return self.model(**inputs, return_loss=True)


def whisper() -> Made:
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        num_mel_bins=8,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_source_positions=16,
        max_target_positions=32,
        decoder_start_token_id=0,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=0,
        suppress_tokens=None,
        begin_suppress_tokens=None,
        dropout=0.0,
    )
    model = transformers.WhisperForConditionalGeneration(config)
    return model, {"input_features": torch.randn(2, 8, 32), "labels": tokens(2, 6)}


def wav2vec2() -> Made:
    config = transformers.Wav2Vec2Config(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        conv_dim=(16, 16),
        conv_kernel=(8, 4),
        conv_stride=(4, 4),
        num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=2,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        feat_proj_dropout=0.0,
        final_dropout=0.0,
        layerdrop=0.0,
        mask_time_prob=0.0,
        ctc_loss_reduction="mean",
    )
    inputs = {"input_values": torch.randn(2, 800), "labels": tokens(2, 6)}
    return transformers.Wav2Vec2ForCTC(config), inputs


full = pytest.mark.full

TRAINED = [
    pytest.param(gpt2, id="gpt2"),
    pytest.param(lambda: language("Llama"), id="llama"),
    pytest.param(lambda: language("Qwen2"), id="qwen2", marks=full),
    pytest.param(qwen3_moe, id="qwen3_moe"),
    pytest.param(lambda: language("Mistral"), id="mistral", marks=full),
    pytest.param(lambda: language("Gemma2"), id="gemma2", marks=full),
    pytest.param(mamba, id="mamba", marks=full),
    pytest.param(bert, id="bert"),
    pytest.param(t5, id="t5"),
    pytest.param(vit, id="vit", marks=full),
    pytest.param(whisper, id="whisper", marks=full),
    pytest.param(clip, id="clip", marks=full),
    pytest.param(resnet, id="resnet", marks=full),
    pytest.param(wav2vec2, id="wav2vec2", marks=full),
]


def train(model: Any, inputs: Inputs, device: str) -> list[float]:
    """Three losses of AdamW on one batch."""
    model.to(device).train()
    batch = {name: value.to(device) for name, value in inputs.items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def generate(model: Any, inputs: Inputs, device: str) -> list[list[int]]:
    """Six tokens, each the likeliest."""
    prompt = {name: value.to(device) for name, value in inputs.items() if name != "labels"}
    generated = model.eval().generate(**prompt, max_new_tokens=6, do_sample=False)
    return generated.tolist()


@pytest.mark.parametrize("make", TRAINED)
def test_trains_and_generates_as_on_the_cpu(make: Callable[[], Made]) -> None:
    torch.manual_seed(0)
    on_cpu, inputs = make()
    on_npu = copy.deepcopy(on_cpu)
    losses = train(on_npu, inputs, "npu")
    torch.testing.assert_close(losses, train(on_cpu, inputs, "cpu"), rtol=1e-4, atol=1e-4)
    assert losses[-1] < losses[0]
    assert all(parameter.device.type == "npu" for parameter in on_npu.parameters())
    if getattr(on_cpu, "can_generate", lambda: False)():
        assert generate(on_npu, inputs, "npu") == generate(on_cpu, inputs, "cpu")
