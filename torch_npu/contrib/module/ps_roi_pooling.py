"""Position-sensitive pooling over regions of interest."""

from __future__ import annotations

import torch
from torch import nn


class PSROIPool(nn.Module):
    """The mean of each bin of a region, each bin from feature maps of its own.

    Args:
        pooled_height: equal to `group_size`, as `pooled_width`; `ValueError` otherwise.
        spatial_scale: pixels of the feature map in a pixel of the image.
        group_size: the bins along each side of a region.
        output_dim: the channels of the result.
    """

    def __init__(
        self,
        pooled_height: int = 7,
        pooled_width: int = 7,
        spatial_scale: float = 1 / 16.0,
        group_size: int = 7,
        output_dim: int = 22,
    ) -> None:
        super().__init__()
        if not pooled_height == pooled_width == group_size:
            raise ValueError(
                "pooled_height, pooled_width and group_size must be equal, but are "
                f"{pooled_height}, {pooled_width} and {group_size}"
            )
        self.group_size = group_size
        self.spatial_scale = spatial_scale
        self.output_dim = output_dim

    def forward(self, features: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
        """Pools regions.

        Args:
            features: (batch, output_dim · group_size², height, width).
            rois: (batch, 5, n): for each region its image and corners x1, y1, x2, y2 in pixels.

        Returns (batch · n, output_dim, group_size, group_size); an empty bin is 0.
        """
        size = self.group_size
        batch, channels, height, width = features.shape
        if channels != self.output_dim * size * size:
            raise ValueError(
                f"features must have {self.output_dim} · {size}² channels, but have {channels}"
            )
        if rois.dim() != 3 or rois.shape[1] != 5:
            raise ValueError(f"rois must have the shape (batch, 5, n), but has {tuple(rois.shape)}")
        regions = rois.transpose(1, 2).reshape(-1, 5)
        columns = self._bins(regions[:, 1], regions[:, 3], width)
        rows = self._bins(regions[:, 2], regions[:, 4], height)
        maps = features.view(batch, self.output_dim, size, size, height, width)
        pooled = [
            torch.einsum("dpqhw,ph,qw->dpq", maps[image], row, column)
            / torch.outer(row.sum(1), column.sum(1)).clamp(min=1)
            for image, row, column in zip(regions[:, 0].long(), rows, columns, strict=True)
        ]
        return torch.stack(pooled) if pooled else features.new_zeros(0, self.output_dim, size, size)

    def _bins(self, first: torch.Tensor, last: torch.Tensor, pixels: int) -> torch.Tensor:
        """1 where a pixel belongs to a bin along one side: (regions, bins, pixels)."""
        begin = first.round() * self.spatial_scale
        length = ((last.round() + 1) * self.spatial_scale - begin).clamp(min=0.1)
        edges = torch.arange(self.group_size + 1, device=first.device, dtype=first.dtype)
        edges = begin[:, None] + edges * (length / self.group_size)[:, None]
        pixel = torch.arange(pixels, device=first.device, dtype=first.dtype)
        inside = (pixel >= edges[:, :-1, None].floor()) & (pixel < edges[:, 1:, None].ceil())
        return inside.to(first.dtype)

    def __repr__(self) -> str:
        return (
            f"PSROIPool(spatial_scale={self.spatial_scale}, group_size={self.group_size}, "
            f"output_dim={self.output_dim})"
        )
