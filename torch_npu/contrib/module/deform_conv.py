"""Modulated deformable convolution, also known as DCNv2."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules.utils import _pair

# Every argument that has a gradient comes first.
_DIFFERENTIABLE = 5


def _sample(
    x: torch.Tensor,
    offset: torch.Tensor,
    kernel_size: tuple[int, int],
    stride: int,
    padding: int,
    dilation: int,
    deformable_groups: int,
) -> torch.Tensor:
    """The bilinear samples (batch · deformable groups, channels, points, height, width)."""
    batch, channels, height, width = x.shape
    rows, columns = kernel_size
    out_height, out_width = offset.shape[2:]

    def axis(count: int, kernel: int) -> torch.Tensor:
        starts = torch.arange(count, device=x.device) * stride - padding
        return starts + torch.arange(kernel, device=x.device)[:, None] * dilation

    base_y = axis(out_height, rows)[:, None, :, None].expand(-1, columns, -1, out_width)
    base_x = axis(out_width, columns)[None, :, None, :].expand(rows, -1, out_height, -1)
    moved = offset.reshape(batch * deformable_groups, rows * columns, 2, out_height, out_width)
    y = base_y.reshape(-1, out_height, out_width) + moved[:, :, 0]
    x_coordinate = base_x.reshape(-1, out_height, out_width) + moved[:, :, 1]
    # grid_sample counts from -1, the outer edge of the first pixel, to 1, that of the last.
    grid = torch.stack([(x_coordinate * 2 + 1) / width - 1, (y * 2 + 1) / height - 1], -1)
    sampled = F.grid_sample(
        x.reshape(batch * deformable_groups, -1, height, width),
        grid.flatten(1, 2),
        padding_mode="zeros",
        align_corners=False,
    )
    return sampled.view(
        batch * deformable_groups,
        channels // deformable_groups,
        rows * columns,
        out_height,
        out_width,
    )


def _convolve(
    x: torch.Tensor,
    offset: torch.Tensor,
    mask: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: int,
    padding: int,
    dilation: int,
    groups: int,
    deformable_groups: int,
) -> torch.Tensor:
    batch, channels = x.shape[:2]
    kernel_size = (weight.shape[2], weight.shape[3])
    out_height, out_width = offset.shape[2:]
    sampled = _sample(x, offset, kernel_size, stride, padding, dilation, deformable_groups)
    sampled = sampled * mask.reshape(batch * deformable_groups, 1, -1, out_height, out_width)
    sampled = sampled.reshape(batch, groups, channels // groups, -1, out_height, out_width)
    grouped = weight.reshape(groups, weight.shape[0] // groups, channels // groups, -1)
    result = torch.einsum("bgckhw,gock->bgohw", sampled, grouped).flatten(1, 2)
    return result if bias is None else result + bias[:, None, None]


class ModulatedDeformConv2dFunction(torch.autograd.Function):
    """A convolution whose points are moved by `offset_ori` and weighed by `mask`.

    Args of `apply`:
        input_tensor: (batch, channels, height, width).
        offset_ori: (batch, 2 · deformable groups · points, out height, out width), y before x.
        mask: (batch, deformable groups · points, out height, out width).
        weight: (out channels, channels / groups, rows, columns).
        bias: (out channels,), used `with_bias`.
        sort_index_for_npu_fp: accepted and ignored, as `sort_index_for_npu_bp`: no kernel here
            wants the offsets in another order.
    """

    @staticmethod
    def forward(
        ctx: Any,
        input_tensor: torch.Tensor,
        offset_ori: torch.Tensor,
        mask: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        with_bias: bool = False,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        deformable_groups: int = 1,
        sort_index_for_npu_fp: Any = None,
        sort_index_for_npu_bp: Any = None,
    ) -> torch.Tensor:
        points = weight.shape[2] * weight.shape[3]
        for name, tensor, factor in (("offset_ori", offset_ori, 2), ("mask", mask, 1)):
            if tensor.shape[1] != factor * deformable_groups * points:
                raise ValueError(
                    f"{name} must have {factor * deformable_groups * points} channels, "
                    f"but has {tensor.shape[1]}"
                )
        if not with_bias:
            bias = None
        ctx.settings = (stride, padding, dilation, groups, deformable_groups)
        ctx.save_for_backward(input_tensor, offset_ori, mask, weight, bias)
        return _convolve(input_tensor, offset_ori, mask, weight, bias, *ctx.settings)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Computes the forward again, so that samples need not be kept."""
        inputs = [
            None if saved is None else saved.detach().requires_grad_(needed)
            for saved, needed in zip(ctx.saved_tensors, ctx.needs_input_grad, strict=False)
        ]
        with torch.enable_grad():
            result = _convolve(*inputs, *ctx.settings)  # type: ignore[arg-type]
        wanted = [tensor for tensor in inputs if tensor is not None and tensor.requires_grad]
        found = iter(torch.autograd.grad(result, wanted, grad_output))
        gradients = [
            next(found) if tensor is not None and tensor.requires_grad else None
            for tensor in inputs
        ]
        return *gradients, *[None] * (13 - _DIFFERENTIABLE)


class ModulatedDeformConv(nn.Module):
    """A convolution whose points and their weights are learnt.

    Args:
        deformable_groups: how many parts of the channels have offsets of their own.
        pack: whether the module computes offsets and masks, with a convolution that starts at
            zero; otherwise its input is the tuple (features, offsets, masks).

    The other arguments are those of `torch.nn.Conv2d`; see `ModulatedDeformConv2dFunction` for
    the shapes.
    """

    bias: nn.Parameter | None
    conv_offset: nn.Conv2d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        deformable_groups: int = 1,
        bias: bool = True,
        pack: bool = True,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.kernel_size = _pair(kernel_size)
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.groups, self.deformable_groups = groups, deformable_groups
        self.with_bias, self.pack = bias, pack
        self.weight = nn.Parameter(
            torch.empty(out_channels, in_channels // groups, *self.kernel_size)
        )
        self.register_parameter("bias", nn.Parameter(torch.empty(out_channels)) if bias else None)
        points = deformable_groups * self.kernel_size[0] * self.kernel_size[1]
        self.split_num = 2 * points
        if pack:
            self.conv_offset = nn.Conv2d(
                in_channels, 3 * points, self.kernel_size, stride, padding, dilation
            )
        self.init_param()

    def init_param(self) -> None:
        """Draws the weights anew; biases, offsets and the logits of the masks become zero."""
        bound = 1 / math.sqrt(self.in_channels * self.kernel_size[0] * self.kernel_size[1])
        nn.init.uniform_(self.weight, -bound, bound)
        zeros: list[torch.Tensor | None] = [self.bias]
        if self.pack:
            zeros += [self.conv_offset.weight, self.conv_offset.bias]
        for parameter in zeros:
            if parameter is not None:
                nn.init.zeros_(parameter)

    def forward(self, x: torch.Tensor | tuple[torch.Tensor, ...]) -> torch.Tensor:
        if self.pack:
            assert isinstance(x, torch.Tensor)
            moved = self.conv_offset(x)
            offset, mask = moved[:, : self.split_num], moved[:, self.split_num :].sigmoid()
        else:
            x, offset, mask = x
        return ModulatedDeformConv2dFunction.apply(
            x,
            offset,
            mask,
            self.weight,
            self.bias,
            self.with_bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
            self.deformable_groups,
        )


DCNv2 = ModulatedDeformConv
