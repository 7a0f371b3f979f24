import torch
from check import equal

x = torch.arange(24.0).reshape(2, 3, 4)
on_device = x.to("npu")
equal(on_device, x)
equal(on_device.transpose(0, 2), x.transpose(0, 2), "a transposed view")
equal(on_device[:, 1:, ::2], x[:, 1:, ::2], "a strided view")
equal(on_device.to(torch.float16), x.to(torch.float16), "another dtype")
for dtype in (torch.int32, torch.int64, torch.bool, torch.bfloat16, torch.uint8):
    equal(x.to("npu").to(dtype), x.to(dtype), str(dtype))
host = torch.empty(2, 3, 4).copy_(on_device)
equal(host, x)
on_device[0].copy_(torch.full((3, 4), 7.0))
equal(on_device[0], torch.full((3, 4), 7.0))
pinned = x.pin_memory()
assert pinned.is_pinned()
equal(pinned.to("npu", non_blocking=True), x)
equal(on_device.to("npu:1"), on_device, "between devices")
equal(torch.empty(0, 3, device="npu"), torch.empty(0, 3), "nothing")
equal(torch.tensor(5.0, device="npu"), torch.tensor(5.0), "no dimension")
assert on_device[0, 0, 0].item() == 7.0
assert on_device.tolist()[1] == x.tolist()[1]
