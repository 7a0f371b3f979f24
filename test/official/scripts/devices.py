import torch

import torch_npu

assert torch.npu.is_available()
assert torch.npu.device_count() == 8
assert torch_npu.__version__.startswith("2.13.0")
assert torch.npu.current_device() == 0
assert "910B" in torch.npu.get_device_name(0)
properties = torch.npu.get_device_properties(0)
assert properties.total_memory > 2**34
torch.npu.set_device(3)
assert torch.npu.current_device() == 3
assert torch.ones(2, device="npu").device == torch.device("npu:3")
with torch.npu.device(1):
    assert torch.ones(2, device="npu").device.index == 1
assert torch.npu.current_device() == 3
