import torch
from check import raises

torch.npu.set_device(0)
before = torch.npu.memory_allocated()
tensor = torch.empty(1 << 20, device="npu")
assert torch.npu.memory_allocated() >= before + (4 << 20)
assert torch.npu.max_memory_allocated() >= before + (4 << 20)
del tensor
assert torch.npu.memory_allocated() == before
torch.npu.empty_cache()
assert torch.npu.memory_reserved() == 0
free, total = torch.npu.mem_get_info()
assert 0 < free <= total
raises("out of memory", lambda: torch.empty(total, dtype=torch.float64, device="npu"))
assert torch.ones(3, device="npu").sum().item() == 3
assert "Allocated memory" in torch.npu.memory_summary()
