import torch

for values in (
    torch.arange(5),
    torch.tensor([1.5, -2.0, float("nan"), float("inf")]),
    torch.tensor([True, False]),
    torch.zeros(0),
    torch.tensor(3.25),
    torch.arange(2000.0).reshape(40, 50),
    torch.randn(3, 4).half(),
):
    host = repr(values)
    device = repr(values.to("npu"))
    assert device.replace(", device='npu:0'", "").split() == host.split(), (host, device)
