import torch
from check import DEVICE, equal, seeded
from torch import nn


def build() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 32),
        nn.GELU(),
        nn.LayerNorm(32),
        nn.Linear(32, 5),
    )


for optimizer in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
    models = seeded(build)
    images, labels = torch.randn(16, 3, 8, 8), torch.randint(0, 5, (16,))
    losses = []
    for model, device in zip(models, ("cpu", DEVICE), strict=True):
        steps = optimizer(model.parameters(), lr=0.01)
        curve = []
        for _ in range(5):
            steps.zero_grad()
            loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
            loss.backward()
            steps.step()
            curve.append(loss.item())
        losses.append(curve)
    equal(torch.tensor(losses[1]), torch.tensor(losses[0]), optimizer.__name__)
    assert losses[1][-1] < losses[1][0]

x = torch.randn(4, 4, requires_grad=True)
y = x.detach().to(DEVICE).requires_grad_()
for leaf in (x, y):
    (first,) = torch.autograd.grad((leaf.sin() * leaf).sum(), leaf, create_graph=True)
    first.pow(2).sum().backward()
equal(y.grad, x.grad, "second derivative")
