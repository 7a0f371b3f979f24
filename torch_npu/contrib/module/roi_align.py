"""Bilinear pooling over regions of interest."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn


class ROIAlign(nn.Module):
    """The mean of sampled points of each bin of a region.

    Args:
        output_size: (height, width) of the result, in bins.
        spatial_scale: pixels of the feature map in a pixel of the image.
        sampling_ratio: points along each side of a bin; 0 for one in every pixel.
        aligned: whether a pixel's centre is at its half; `False` for Detectron's first manner, in
            which a region is at least one pixel wide and high.
    """

    def __init__(
        self,
        output_size: Sequence[int],
        spatial_scale: float,
        sampling_ratio: int,
        aligned: bool = True,
    ) -> None:
        super().__init__()
        self.output_size = tuple(output_size)
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input_tensor: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
        """Pools regions.

        Args:
            input_tensor: features (batch, channels, height, width).
            rois: (n, 5): the image of each region and its corners x1, y1, x2, y2.

        Returns (n, channels, *output_size) in float32.
        """
        if rois.dim() != 2 or rois.shape[1] != 5:
            raise ValueError(f"rois must have the shape (n, 5), but has {tuple(rois.shape)}")
        features = input_tensor.float()
        pooled = [self._pool(features[int(roi[0])], roi[1:]) for roi in rois.float().cpu()]
        if not pooled:
            return features.new_zeros(0, features.shape[1], *self.output_size)
        return torch.stack(pooled)

    def _pool(self, image: torch.Tensor, corners: torch.Tensor) -> torch.Tensor:
        left, top, right, bottom = (
            corners * self.spatial_scale - (0.5 if self.aligned else 0.0)
        ).tolist()
        rows, row_bins = self._points(top, bottom, self.output_size[0])
        columns, column_bins = self._points(left, right, self.output_size[1])
        weights_y = _bilinear(rows, image.shape[1]).to(image.device)
        weights_x = _bilinear(columns, image.shape[2]).to(image.device)
        sampled = torch.einsum("chw,yh,xw->cyx", image, weights_y, weights_x)
        bins = sampled.view(
            image.shape[0], self.output_size[0], row_bins, self.output_size[1], column_bins
        )
        return bins.mean((2, 4))

    def _points(self, first: float, last: float, bins: int) -> tuple[torch.Tensor, int]:
        """The coordinates of all points along one side, and how many a bin has."""
        length = last - first if self.aligned else max(last - first, 1.0)
        count = self.sampling_ratio or max(math.ceil(length / bins), 1)
        steps = (torch.arange(bins * count, dtype=torch.float32) + 0.5) / count
        return first + steps * (length / bins), count

    def __repr__(self) -> str:
        return (
            f"ROIAlign(output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, aligned={self.aligned})"
        )


def _bilinear(points: torch.Tensor, pixels: int) -> torch.Tensor:
    """What each pixel gives to each point: (points, pixels). More than a pixel outside gives 0."""
    inside = (points >= -1) & (points <= pixels)
    clamped = points.clamp(0, pixels - 1)
    distance = (clamped[:, None] - torch.arange(pixels)).abs()
    return (1 - distance).clamp(min=0) * inside[:, None]
