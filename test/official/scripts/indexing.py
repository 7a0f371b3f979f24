"""Indexing by lists of tensors beside slices: the wheel writes slices as empty index tensors."""

import torch
from check import equal

for dtype in (torch.float32, torch.int64, torch.bool):
    base = torch.arange(24).reshape(2, 3, 4).to(dtype)
    rows, none = torch.tensor([1, 0]), torch.tensor([], dtype=torch.int64)
    for index in (
        (slice(None), rows),
        (slice(None), [0]),
        (slice(None), slice(None), [3, 1]),
        (rows, slice(None), rows),
        (slice(None), none),
        (none, none),
        (none,),
        (torch.tensor([[1], [0]]), slice(None), rows),
        (base[:, 0, 0] == 0,),
    ):
        on_npu = tuple(i.npu() if isinstance(i, torch.Tensor) else i for i in index)
        equal(base.npu()[on_npu], base[index])
        written, expected = base.npu(), base.clone()
        written[on_npu] = torch.ones((), dtype=dtype).npu()
        expected[index] = torch.ones((), dtype=dtype)
        equal(written, expected)

# Targets of three lengths: the wheel pads what the backward pass reads to whole blocks.
log_probs = torch.randn(16, 3, 7).log_softmax(-1)
targets = torch.randint(1, 7, (3, 6))
lengths = torch.full((3,), 16), torch.tensor([6, 4, 5])
losses, gradients = [], []
for device in ("cpu", "npu"):
    scores = log_probs.detach().to(device).requires_grad_()
    loss = torch.nn.functional.ctc_loss(scores, targets.to(device), *lengths)
    loss.backward()
    losses.append(loss)
    gradients.append(scores.grad)
equal(losses[1], losses[0])
equal(gradients[1], gradients[0])
