"""Modules of vision and translation models, and of quantised ones."""

from torch_npu.contrib.module.activations import Mish, SiLU, Swish
from torch_npu.contrib.module.bidirectional_lstm import BiLSTM
from torch_npu.contrib.module.channel_shuffle import ChannelShuffle
from torch_npu.contrib.module.crossentropy import LabelSmoothingCrossEntropy
from torch_npu.contrib.module.deform_conv import ModulatedDeformConv
from torch_npu.contrib.module.drop_path import NpuDropPath
from torch_npu.contrib.module.ensemble_dropout import NpuCachedDropout, NpuFairseqDropout
from torch_npu.contrib.module.focus import Focus
from torch_npu.contrib.module.linear_a8w8_quant import LinearA8W8Quant
from torch_npu.contrib.module.linear_quant import LinearQuant
from torch_npu.contrib.module.linear_weight_quant import LinearWeightQuant
from torch_npu.contrib.module.multihead_attention import MultiheadAttention
from torch_npu.contrib.module.npu_modules import DropoutWithByteMask
from torch_npu.contrib.module.prefetcher import Prefetcher
from torch_npu.contrib.module.ps_roi_pooling import PSROIPool
from torch_npu.contrib.module.quant_conv2d import QuantConv2d
from torch_npu.contrib.module.roi_align import ROIAlign

__all__ = [
    "BiLSTM",
    "ChannelShuffle",
    "DropoutWithByteMask",
    "Focus",
    "LabelSmoothingCrossEntropy",
    "LinearA8W8Quant",
    "LinearQuant",
    "LinearWeightQuant",
    "Mish",
    "ModulatedDeformConv",
    "MultiheadAttention",
    "NpuCachedDropout",
    "NpuDropPath",
    "NpuFairseqDropout",
    "PSROIPool",
    "Prefetcher",
    "QuantConv2d",
    "ROIAlign",
    "SiLU",
    "Swish",
]
