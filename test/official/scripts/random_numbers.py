import torch
from check import DEVICE, equal
from torch import nn

torch.npu.manual_seed(7)
first = [
    torch.rand(100, device=DEVICE),
    torch.randn(100, device=DEVICE),
    torch.randperm(50, device=DEVICE),
]
torch.npu.manual_seed(7)
again = [
    torch.rand(100, device=DEVICE),
    torch.randn(100, device=DEVICE),
    torch.randperm(50, device=DEVICE),
]
for left, right in zip(first, again, strict=True):
    equal(right, left, "the same seed")
assert not torch.equal(first[0].cpu(), torch.rand(100, device=DEVICE).cpu())
state = torch.npu.get_rng_state()
drawn = torch.rand(10, device=DEVICE)
torch.npu.set_rng_state(state)
equal(torch.rand(10, device=DEVICE), drawn, "a state put back")
sample = torch.rand(100_000, device=DEVICE)
assert sample.min().item() >= 0
assert sample.max().item() <= 1
assert abs(sample.mean().item() - 0.5) < 0.01
normal = torch.randn(100_000, device=DEVICE)
assert abs(normal.mean().item()) < 0.02
assert abs(normal.std().item() - 1) < 0.02

x = torch.ones(1000, 100, device=DEVICE, requires_grad=True)
y = nn.functional.dropout(x, 0.3, training=True)
kept = y != 0
assert abs(kept.float().mean().item() - 0.7) < 0.01
equal(y[kept], torch.full_like(y[kept], 1 / 0.7), "what is kept is scaled")
y.sum().backward()
equal(x.grad, y, "the gradient's mask is the output's")
equal(nn.functional.dropout(x, 0.3, training=False), x)
torch.npu.manual_seed(3)
left = nn.functional.dropout(x, 0.5)
torch.npu.manual_seed(3)
equal(nn.functional.dropout(x, 0.5), left, "dropout follows the seed")
