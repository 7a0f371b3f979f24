"""Dynamo learns of `npu` when it is imported, and not before."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import dropout
from torch.utils.checkpoint import checkpoint


def test_interface_is_registered_when_dynamo_is_imported(run_python) -> None:
    code = """
import sys, torch, torch_npu
assert "torch._dynamo" not in sys.modules
from torch._dynamo.device_interface import get_interface_for_device
interface = get_interface_for_device("npu")
assert interface.device_count() == torch.npu.device_count()
assert interface.Stream is torch.npu.Stream and interface.device is torch.npu.device
print("registered")
"""
    result = run_python(code)
    assert result.stdout.endswith("registered\n"), result.stderr


def test_interface_is_registered_where_dynamo_came_first(run_python) -> None:
    code = """
import torch, torch._dynamo
import torch_npu
from torch._dynamo.device_interface import get_interface_for_device
print(get_interface_for_device("npu").__name__)
"""
    result = run_python(code)
    assert result.stdout.endswith("NpuInterface\n"), result.stderr


@pytest.mark.parametrize("device", ["npu:0", "npu:1"])
def test_recomputed_random_numbers_are_those_of_the_first_time(device: str) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return checkpoint(lambda y: dropout(y.sin(), 0.5).cos(), x, use_reentrant=False)

    compiled = torch.compile(program, backend="aot_eager", fullgraph=True)
    results = []
    for _ in range(3):
        x = torch.ones(256, device=device, requires_grad=True)
        result = compiled(x)
        result.sum().backward()
        # The cosine is 1 where a number was dropped, and then there is no gradient.
        assert torch.equal(result == 1, x.grad == 0)
        results.append(result.detach())
    assert not torch.equal(results[0], results[1])
    assert not torch.equal(results[1], results[2])
    assert 0.3 < (results[0] == 1).float().mean().item() < 0.7


def test_compiler_finds_the_generator_of_a_device() -> None:
    generator = torch.npu._get_generator(torch.device("npu:1"))
    assert generator is torch.npu.default_generators[1]
    assert torch.npu._get_generator(torch.device("npu")).device == torch.device("npu:0")
    with pytest.raises(RuntimeError, match="Invalid device id"):
        torch.npu._get_generator(torch.device("npu:99"))


@pytest.mark.parametrize(
    "imports",
    [
        "from torch_npu.contrib import transfer_to_npu",
        "import torch._dynamo; from torch_npu.contrib import transfer_to_npu",
    ],
    ids=["transfer first", "dynamo first"],
)
def test_a_cuda_program_moved_to_npu_is_one_graph(run_python, imports: str) -> None:
    code = f"""
import torch, torch_npu
{imports}
def program(x):
    stream, event = torch.cuda.Stream(), torch.cuda.Event()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = x * 3
    stream.record_event(event)
    torch.cuda.current_stream().wait_event(event)
    with torch.cuda.device(0), torch.cuda.amp.autocast():
        y = (y @ y) * torch.cuda.is_available() + torch.cuda.current_device()
    torch.cuda.synchronize()
    return y
x = torch.ones(4, 4, device="cuda")
for backend in ("eager", "aot_eager"):
    compiled = torch.compile(program, backend=backend, fullgraph=True)
    assert torch.equal(compiled(x), program(x))
from torch._dynamo import trace_rules
trace_rules.clear_lru_cache()
trace_rules.get_torch_obj_rule_map()
print("one graph")
"""
    result = run_python(code)
    assert result.stdout.endswith("one graph\n"), result.stderr
