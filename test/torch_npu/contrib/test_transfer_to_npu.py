"""Programs written for `cuda`, each in a process of its own with the one line at its start."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FIRST_LINE = "import torch_npu.contrib.transfer_to_npu\n"


@pytest.fixture
def run_program(run_python: Callable[..., Any], tmp_path: Path) -> Callable[[str], str]:
    """Runs a program from a file, as TorchScript wants to read it; returns what it printed."""

    def run(program: str) -> str:
        file = tmp_path / "program.py"
        file.write_text(FIRST_LINE + textwrap.dedent(program))
        done = run_python(f"import runpy; runpy.run_path({str(file)!r}, run_name='__main__')")
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


TRAINING = """
    import torch
    from torch import nn
    from torch.cuda.amp import GradScaler, autocast
    from torch.utils.data import DataLoader, TensorDataset

    assert torch.cuda.is_available()
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    torch.cuda.set_device(device)

    x = torch.randn(64, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    loader = DataLoader(data, 16, pin_memory=True, pin_memory_device="cuda", num_workers=1)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    model.cuda()
    scaler = GradScaler()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    losses = []
    for epoch in range(30):
        for inputs, targets in loader:
            assert inputs.is_pinned() and not inputs.is_cuda
            inputs = inputs.cuda(non_blocking=True)
            targets = targets.to(device, non_blocking=True)
            assert inputs.is_cuda and next(model.parameters()).is_cuda
            with autocast(dtype=torch.bfloat16):
                output = model(inputs)
                assert output.dtype == torch.bfloat16
                loss = nn.functional.mse_loss(output.float(), targets)
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        losses.append(loss.item())
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0
    assert losses[-1] < losses[0] / 4, losses
    assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated() > 0
    torch.cuda.empty_cache()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = torch.ones(3, device="cuda") * 2
    torch.cuda.current_stream().wait_stream(side)
    assert y.tolist() == [2, 2, 2]
    assert loss.device.type == "npu"
"""


def test_a_training_script(run_program: Callable[[str], str]) -> None:
    run_program(TRAINING)


DEVICES = """
    import copy, pickle, threading
    import torch

    cpu = torch.arange(4.0)
    index = torch.device("cuda", 1)
    made = [
        torch.ones(2, device="cuda"), torch.zeros(2, device="cuda:0"), torch.empty(2, device=index),
        torch.tensor([1], device=torch.device("cuda")), torch.as_tensor([1], device="cuda"),
        torch.randn(2, device="cuda"), torch.randint(3, (2,), device="cuda"),
        torch.arange(3, device="cuda"), torch.full((2,), 1, device="cuda"),
        torch.eye(2, device="cuda"), torch.linspace(0, 1, 3, device="cuda"),
        torch.fft.fftfreq(4, device="cuda"), torch.zeros_like(cpu, device="cuda"),
        torch.randint_like(cpu, 3, device="cuda"), torch.asarray([1], device="cuda"),
        cpu.to("cuda"), cpu.to(device="cuda:1"), cpu.to(index, torch.float16), cpu.cuda(),
        cpu.cuda(1), cpu.cuda("cuda:1"), cpu.cuda(device=index), cpu.to(0),
        cpu.new_ones(2, device="cuda"), cpu.new_tensor([1], device="cuda"),
        cpu.new_zeros(2, device="cuda"), cpu.type("torch.cuda.FloatTensor"),
        torch.cuda.FloatTensor([1.0, 2.0]), torch.nn.Linear(2, 2, device="cuda").weight,
        torch.nn.Linear(2, 2).to("cuda").weight, torch.nn.Linear(2, 2).cuda(1).weight,
        torch.nn.Linear(2, 2, device="meta").to_empty(device="cuda").weight,
        torch.randn(2, device="cuda", generator=torch.Generator("cuda").manual_seed(1)),
        cpu.untyped_storage().cuda(), torch.sparse_coo_tensor([[0]], [1.0], (2,), device="cuda"),
        torch.nn.utils.rnn.pack_sequence([cpu]).cuda().data,
    ]
    for position, each in enumerate(made):
        assert each.device.type == "npu", (position, each.device)
        assert each.is_cuda, position
    assert made[2].device.index == made[16].device.index == made[20].device.index == 1
    assert isinstance(made[27], torch.cuda.FloatTensor)

    with torch.device("cuda"):
        assert torch.ones(2).is_cuda
    torch.set_default_device("cuda")
    assert torch.rand(2).is_cuda
    torch.set_default_device("cpu")
    assert not cpu.is_cuda and not torch.ones(2).is_cuda

    # The type itself.
    assert isinstance(index, torch.device) and type(index) == torch.device
    assert not isinstance("cuda", torch.device)
    assert issubclass(type(index), torch.device)
    assert {torch.device: 1}[type(index)] == 1
    assert str(torch.device("cpu")) == "cpu" and torch.device(index) == torch.device("npu:1")
    assert pickle.loads(pickle.dumps(index)) == copy.deepcopy(index) == index
    assert pickle.loads(pickle.dumps(torch.device)) is torch.device
    assert isinstance(torch.Generator(), torch.Generator)
    annotation = torch.device | None

    # Another thread sees the same.
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.ones(2, device="cuda").is_cuda))
    thread.start(); thread.join()
    assert seen == [True]

    # What is no device is left alone, and errors are PyTorch's.
    try:
        torch.ones(2, device="cudaa")
    except RuntimeError as error:
        assert "cudaa" in str(error)
    else:
        raise AssertionError("a device that does not exist was taken")
"""


def test_devices_of_cuda_are_those_of_npu(run_program: Callable[[str], str]) -> None:
    run_program(DEVICES)


CUDA_MODULE = """
    import torch

    for name in ("Stream", "Event", "device", "current_device", "set_device", "memory_stats",
                 "get_device_name", "OutOfMemoryError", "is_bf16_supported", "synchronize"):
        assert getattr(torch.cuda, name) is getattr(torch.npu, name), name
    assert torch.cuda.CUDAGraph is torch.npu.NPUGraph
    assert torch.cuda.memory.memory_allocated is torch.npu.memory_allocated
    assert torch.cuda.random.get_rng_state is torch.npu.get_rng_state
    assert torch.cuda.amp.autocast is torch.npu.amp.autocast
    assert torch.cuda.amp.grad_scaler.GradScaler is torch.npu.amp.GradScaler
    assert torch.cuda.device_count() == 8
    torch.cuda.init()
    assert len(torch.cuda.default_generators) == 8
    assert torch.cuda.get_device_properties(0).name.startswith("Ascend")
    assert torch.cuda.fallback_counts() == {}

    with torch.cuda.device(1):
        assert torch.ones(2).cuda().device == torch.device("cuda:1")
    with torch.cuda.device("cuda:2"):
        assert torch.cuda.current_device() == 2
    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(3, device="cuda"))
    with torch.random.fork_rng(devices=[0]):
        torch.cuda.manual_seed(5)
    torch.cuda.nvtx.range_push("a range")
    torch.cuda.nvtx.mark("a mark")
    torch.cuda.nvtx.range_pop()
    with torch.cuda.nvtx.range("another"):
        pass
    try:
        torch.cuda.does_not_exist
    except AttributeError as error:
        assert "does_not_exist" in str(error)
    else:
        raise AssertionError

    for scaler in (torch.amp.GradScaler("cuda"), torch.amp.GradScaler(),
                   torch.cuda.amp.GradScaler()):
        assert scaler.is_enabled() and scaler._device == "npu"
    for context in (torch.autocast("cuda"), torch.autocast(device_type="cuda"),
                    torch.amp.autocast("cuda"), torch.cuda.amp.autocast()):
        with context:
            assert torch.is_autocast_enabled() and torch.is_autocast_enabled("cuda")
            assert torch.mm(torch.ones(2, 2).cuda(), torch.ones(2, 2).cuda()).dtype == torch.float16
        assert not torch.is_autocast_enabled()
    assert torch.get_autocast_dtype("cuda") == torch.get_autocast_gpu_dtype() == torch.float16

    # Scripts made after the transfer know the functions that stand in for PyTorch's.
    @torch.jit.script
    def scripted(x: torch.Tensor):
        return x + torch.ones(2, device=x.device)
    assert scripted(torch.ones(2).cuda()).tolist() == [2, 2]

    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        torch.ones(2, device="cuda").sum().item()
    assert any(event.key == "aten::sum" for event in profile.key_averages())
"""


def test_the_module_torch_cuda_is_that_of_npu(run_program: Callable[[str], str]) -> None:
    run_program(CUDA_MODULE)


FILES = """
    import torch

    path = PATH
    native, torch.serialization.location_tag = torch.serialization.location_tag, lambda _: "cuda:1"
    torch.save({"weight": torch.arange(3.0)}, path)  # as a machine with CUDA would have
    torch.serialization.location_tag = native

    def load(**options):
        weight = torch.load(path, **options)["weight"]
        assert weight.tolist() == [0, 1, 2]
        return str(weight.device)

    assert load() == "npu:1"
    assert load(weights_only=False) == "npu:1"
    assert load(map_location="cuda:0") == "npu:0"
    assert load(map_location="cuda") == "npu:0"
    assert load(map_location=torch.device("cuda", 2)) == "npu:2"
    assert load(map_location={"cuda:1": "cuda:3"}) == "npu:3"
    assert load(map_location={"cuda:1": "cpu"}) == "cpu"
    assert load(map_location="cpu") == "cpu"
    assert load(map_location=lambda storage, location: storage.cuda(4)) == "npu:4"
    assert torch.load(path, "cuda")["weight"].is_cuda

    torch.save({"weight": torch.arange(3.0).cuda(), "device": torch.device("cuda")}, path)
    assert load() == "npu:0"
    assert load(map_location={"cuda:0": "cuda:1"}) == "npu:1"

    import torch.distributed as dist
    assert dist.is_nccl_available()
    try:
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    except NotImplementedError as error:
        assert "hccl" in str(error)
    else:
        assert dist.get_backend() == "hccl"
        dist.destroy_process_group()
    dist.init_process_group("cpu:gloo,cuda:gloo", store=dist.HashStore(), rank=0, world_size=1)
    assert dist.is_initialized()
"""


def test_files_and_process_groups(run_program: Callable[[str], str], tmp_path: Path) -> None:
    run_program(FILES.replace("PATH", repr(str(tmp_path / "checkpoint.pt"))))


def test_the_patches_are_listed_and_applied_once(run_program: Callable[[str], str]) -> None:
    program = """
        import importlib
        import torch
        from torch_npu._init.patches.patch_manager import PatchManager

        listed = [(name, applied) for group, name, applied in PatchManager.list()
                  if group == "transfer_to_npu"]
        assert all(applied for _, applied in listed)
        ones = torch.ones
        import torch_npu.contrib
        importlib.reload(torch_npu.contrib.transfer_to_npu)
        assert torch.ones is ones
        print(*sorted(name for name, _ in listed))
    """
    assert run_program(program).split() == [
        "autocast_state",
        "collectives",
        "cuda_functions",
        "data_loading",
        "device_and_generator",
        "factories",
        "files",
        "mixed_precision",
        "modules",
        "nvtx",
        "profiler",
        "storages",
        "tensors",
    ]


def test_without_the_line_nothing_is_changed(run_python: Callable[..., Any]) -> None:
    done = run_python(
        "import torch; before = (torch.device, torch.ones, torch.Tensor.to, torch.cuda.Stream)\n"
        "import torch_npu\n"
        "assert before == (torch.device, torch.ones, torch.Tensor.to, torch.cuda.Stream)\n"
        "assert torch.device('cuda').type == 'cuda'\n"
    )
    assert done.returncode == 0, done.stderr
