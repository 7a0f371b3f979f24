"""Private formats: a cast there and back changes nothing, and operators see the same numbers."""

import torch
from check import equal

import torch_npu

torch.npu.config.allow_internal_format = True
matrix = torch.randn(20, 36).half()
image = torch.randn(2, 20, 5, 7).half()
for tensor, number in ((matrix, 29), (image, 3), (image, 4)):
    on_device = tensor.to("npu")
    private = torch_npu.npu_format_cast(on_device, number)
    assert torch_npu.get_npu_format(private) == number, torch_npu.get_npu_format(private)
    equal(private, tensor, f"format {number}")
    equal(torch_npu.npu_format_cast(private, 2), tensor, f"format {number} and back")
    equal(private + 1, tensor + 1, f"format {number} in an operator")
weight = torch.randn(36, 16).half()
product = matrix.npu() @ torch_npu.npu_format_cast(weight.npu(), 29)
torch.testing.assert_close(product.cpu(), matrix @ weight, rtol=1e-2, atol=1e-2)
