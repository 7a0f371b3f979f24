"""`torch.nn.DataParallel` and `torch.nn.parallel.comm` over several devices."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn.parallel import comm


class Twice(nn.Module):
    """With a buffer, and a dictionary as its result."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))

    def forward(self, x: Tensor, scale: float) -> dict[str, Tensor]:
        return {"y": self.layers(x) * scale}


def test_a_replicated_module_trains_as_on_one_device() -> None:
    torch.manual_seed(0)
    module = Twice().npu().eval()
    parallel = nn.DataParallel(copy.deepcopy(module), device_ids=[0, 1, 3])
    x = torch.randn(7, 4, device="npu", requires_grad=True)
    twin = x.detach().clone().requires_grad_()
    expected, actual = module(x, scale=2.0)["y"], parallel(twin, scale=2.0)["y"]
    assert actual.device == torch.device("npu", 0)
    torch.testing.assert_close(actual, expected)
    expected.square().sum().backward()
    actual.square().sum().backward()
    torch.testing.assert_close(twin.grad, x.grad)
    for one, other in zip(module.parameters(), parallel.module.parameters(), strict=True):
        torch.testing.assert_close(other.grad, one.grad)


def test_each_replica_runs_on_its_device() -> None:
    class Where(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            assert x.device.index == torch.npu.current_device()
            return torch.full_like(x, x.device.index)

    outcome = nn.DataParallel(Where(), device_ids=[0, 2])(torch.zeros(4, device="npu"))
    assert outcome.tolist() == [0, 0, 2, 2]


def test_a_batch_smaller_than_the_devices_uses_fewer() -> None:
    module = nn.DataParallel(nn.Linear(2, 2).npu(), device_ids=[0, 1, 2])
    assert module(torch.ones(2, 2, device="npu")).shape == (2, 2)


def test_scattered_chunks_lie_where_they_should() -> None:
    x = torch.arange(12.0).reshape(2, 6)
    streams = [torch.npu.Stream(0), None]
    parts = comm.scatter(x.npu(), [0, 1], chunk_sizes=[2, 4], dim=1, streams=streams)
    torch.npu.synchronize(0)
    assert [part.device.index for part in parts] == [0, 1]
    torch.testing.assert_close(torch.cat([part.cpu() for part in parts], 1), x)
    out = [torch.empty(1, 6, device="npu:2"), torch.empty(1, 6, device="npu:3")]
    assert comm.scatter(x, out=out)[1] is out[1]
    torch.testing.assert_close(torch.cat([part.cpu() for part in out]), x)


def test_gathered_parts_are_joined() -> None:
    parts = [torch.full((2, 1 + index), float(index), device=f"npu:{index}") for index in range(3)]
    expected = torch.cat([part.cpu() for part in parts], 1)
    on_second = comm.gather(parts, dim=1, destination=1)
    assert on_second.device == torch.device("npu", 1)
    assert torch.equal(on_second.cpu(), expected)
    assert torch.equal(comm.gather(parts, dim=1, destination="cpu"), expected)
    out = torch.empty(2, 6, device="npu:2")
    comm.gather(parts, dim=1, out=out)
    assert torch.equal(out.cpu(), expected)


def test_broadcast_tensors_are_equal_and_the_first_is_the_given_one() -> None:
    x, y = torch.randn(3, device="npu"), torch.arange(4, device="npu")
    copies = comm.broadcast(x, [0, 1])
    assert copies[0] is x
    assert torch.equal(copies[1].cpu(), x.cpu())
    out = [torch.empty(3, device="npu:1")]
    comm.broadcast(x, out=out)
    assert torch.equal(out[0].cpu(), x.cpu())
    (first, _), (_, other) = comm.broadcast_coalesced([x, y], [0, 2])
    assert first is x
    assert torch.equal(other.cpu(), y.cpu())
    assert other.device == torch.device("npu", 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: comm.scatter(x, [0, 8]), "device 8: there are 8 npu devices"),
        (lambda x: comm.scatter(x, [0, 1], chunk_sizes=[3]), "1 chunk_sizes for 2 devices"),
        (lambda x: comm.scatter(x, [0, 1], chunk_sizes=[1, 1]), "split_with_sizes"),
        (lambda x: comm.scatter(x, [0, 1], streams=[None]), "1 streams for 2 devices"),
        (lambda x: comm.scatter(x, [1], streams=[torch.npu.Stream(0)]), "belongs to npu:0"),
        (lambda x: comm.gather([x, x.cpu()], destination=0), r"tensors\[1\] is on cpu"),
        (lambda x: comm.gather([x], out=x.new_empty(3)), "size 3 at dimension 0, expected 4"),
        (lambda x: comm.broadcast(x, out=[x.new_empty(3)]), r"shape \[3\], expected \[4\]"),
        (lambda x: comm.broadcast_coalesced([x], [1, 0]), "expected npu:1, the first"),
    ],
)
def test_wrong_arguments_are_named(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(RuntimeError, match=message):
        call(torch.ones(4, device="npu"))
