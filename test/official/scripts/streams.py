import torch
from check import equal

stream, other = torch.npu.Stream(), torch.npu.Stream()
start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
x = torch.randn(256, 256)
with torch.npu.stream(stream):
    start.record()
    y = x.to("npu")
    for _ in range(10):
        y = torch.tanh(y @ y)
    end.record()
other.wait_event(end)
with torch.npu.stream(other):
    z = y + 1
other.synchronize()
assert end.query()
assert start.elapsed_time(end) >= 0
expected = x
for _ in range(10):
    expected = torch.tanh(expected @ expected)
assert z.shape == expected.shape
assert torch.isfinite(z).all().item()
short = torch.tanh(x.to("npu") @ x.to("npu"))
equal(short, torch.tanh(x @ x))
stream.synchronize()
assert stream.query()
assert torch.npu.current_stream() != stream
torch.npu.synchronize()
