"""Failures come as the wheel's own errors, and what follows them is right."""

import torch
from check import equal, raises

x, y = torch.randn(2, 3, device="npu"), torch.randn(4, 5, device="npu")


def without_a_function_of_softcann() -> None:
    half = torch.ones(2, 1, 3, dtype=torch.float16, device="npu")
    weight = torch.ones(16, 1, dtype=torch.float16, device="npu")
    torch.ops.npu.npu_nsa_compress(half, weight, 16, 16, actual_seq_len=[2])
    torch.npu.synchronize()


raises("mat", lambda: (x @ y).cpu())
equal(x + 1, x.cpu() + 1, "after wrong shapes")
raises("aclnnNsaCompress", without_a_function_of_softcann)
equal(x * 2, x.cpu() * 2, "after a missing function")
