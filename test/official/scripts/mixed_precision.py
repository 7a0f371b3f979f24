import torch
from check import DEVICE, equal, seeded
from torch import nn

_, model = seeded(lambda: nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)))
scaler = torch.amp.GradScaler("npu", init_scale=2.0**10, growth_interval=2)
steps = torch.optim.SGD(model.parameters(), lr=0.1)
inputs, labels = torch.randn(8, 16, device=DEVICE), torch.randint(0, 4, (8,), device=DEVICE)
losses = []
for _ in range(4):
    steps.zero_grad()
    with torch.amp.autocast("npu", dtype=torch.float16):
        outputs = model(inputs)
        assert outputs.dtype == torch.float16
        loss = nn.functional.cross_entropy(outputs.float(), labels)
    scaler.scale(loss).backward()
    scaler.step(steps)
    scaler.update()
    losses.append(loss.item())
assert losses[-1] < losses[0]
assert scaler.get_scale() == 2.0**12, scaler.get_scale()

before = [parameter.detach().clone() for parameter in model.parameters()]
steps.zero_grad()
(model(inputs).sum() * float("inf")).backward()
for parameter in model.parameters():
    parameter.grad.fill_(float("inf"))
scaler.step(steps)
scaler.update()
for old, new in zip(before, model.parameters(), strict=True):
    equal(new, old, "a step with infinite gradients is left out")
assert scaler.get_scale() == 2.0**11, scaler.get_scale()
