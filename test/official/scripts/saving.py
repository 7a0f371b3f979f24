import io

import torch
from check import DEVICE, equal
from torch import nn

model = nn.Linear(4, 3).to(DEVICE)
buffer = io.BytesIO()
torch.save({"model": model.state_dict(), "x": torch.arange(3, device=DEVICE)}, buffer)
for where in ("cpu", DEVICE):
    buffer.seek(0)
    loaded = torch.load(buffer, map_location=where)
    assert loaded["x"].device.type == torch.device(where).type
    equal(loaded["model"]["weight"], model.weight)
again = nn.Linear(4, 3).to(DEVICE)
again.load_state_dict(loaded["model"])
equal(again(torch.ones(2, 4, device=DEVICE)), model(torch.ones(2, 4, device=DEVICE)))
