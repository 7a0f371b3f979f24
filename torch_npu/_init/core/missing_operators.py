"""What to use instead of an operator of Ascend's that this version does not have."""

from __future__ import annotations

import re

# The first pattern that a name matches says what does the same.
_INSTEAD = (
    (
        r"all_?gather|all_?reduce|reduce_scatter|all_?to_?all|distribut|attention_to_ffn"
        r"|ffn_to_attention|worker",
        "torch.distributed for the exchange and torch.matmul for the product",
    ),
    (r"conv", "torch.nn.functional.conv2d and its relatives"),
    (r"lstm", "torch.nn.LSTM"),
    (r"gru", "torch.nn.GRU"),
    (r"apply_adam|adam_w", "torch.optim.Adam or torch.optim.AdamW"),
    (r"dropout", "torch.nn.functional.dropout"),
    (r"cross_entropy", "torch.nn.functional.cross_entropy"),
    (r"layer_?norm", "torch.nn.functional.layer_norm"),
    (r"group_norm", "torch.nn.functional.group_norm"),
    (r"batch_norm", "torch.nn.functional.batch_norm"),
    (r"rms_norm", "torch_npu.npu_rms_norm or torch_npu.npu_add_rms_norm, and quantise after it"),
    (r"fft", "torch.fft"),
    (r"swiglu|geglu|gelu", "torch_npu.npu_swiglu or torch.nn.functional.gelu"),
    (r"rope|rotary|mrope", "torch_npu.npu_rotary_mul"),
    (r"grouped_matmul|gmm", "torch_npu.npu_grouped_matmul"),
    (r"quant.*(matmul|mm)|matmul.*quant|dequant", "torch_npu.npu_quant_matmul"),
    (r"quant", "torch_npu.npu_dynamic_quant or torch_npu.npu_quantize"),
    (
        r"attention|flash|mla|nsa|indexer",
        "torch_npu.npu_fusion_attention, torch_npu.npu_fused_infer_attention_score or "
        "torch.nn.functional.scaled_dot_product_attention",
    ),
    (
        r"moe",
        "torch_npu.npu_moe_init_routing_v2, torch_npu.npu_moe_token_permute and their relatives",
    ),
    (r"iou|nms|box|roi|anchor|yolo|grid_assign", "torch_npu.npu_iou, torch_npu.npu_nms_v4"),
    (r"scatter|index|gather", "Tensor.scatter_, Tensor.index_copy_ or Tensor.index_put_"),
    (r"float_status", "torch.isfinite"),
    (r"_backward|_grad$", "the forward operator's automatic derivative"),
)

# Ascend's operators whose names do not begin with npu_.
_OTHERS = frozenset(
    {
        "_amp_foreach_non_finite_check",
        "_conv_depthwise2d_backward",
        "_dropout_with_byte_mask",
        "_dropout_with_byte_mask_backward",
        "_empty_affine_quantized",
        "_gru_npu",
        "_gru_npu_backward",
        "_lstm_npu",
        "_lstm_npu_backward",
        "_quantize_per_channel_impl",
        "_quantize_per_tensor_impl",
        "attention_worker_scheduler",
        "attention_worker_scheduler_",
        "batch_norm_gather_stats_update",
        "batch_norm_reduce",
        "dropout_with_byte_mask",
        "ffn_worker_scheduler",
        "ffn_worker_scheduler_",
        "fft_c2r_backward",
        "fft_r2c_backward",
        "kl_div_backward",
        "kl_div_target_backward",
        "l1_loss_backward",
        "matmul_double_backward",
        "obfuscation_calculate",
        "obfuscation_finalize",
        "obfuscation_initialize",
        "repeat_interleave_backward_int",
        "repeat_interleave_backward_tensor",
        "scatter_update",
        "scatter_update_",
        "slow_conv_dilated2d_backward",
        "slow_conv_transpose2d_backward",
        "stft_backward",
    }
)


def refusal(name: str) -> str | None:
    """The text of the error for an absent operator; `None` if the name is not of one."""
    if not name.startswith(("npu_", "_npu_")) and name not in _OTHERS:
        return None
    found = (what for pattern, what in _INSTEAD if re.search(pattern, name))
    instead = next(found, "PyTorch's own operators")
    return f"this version has no operator 'npu::{name}'. Use {instead}."
