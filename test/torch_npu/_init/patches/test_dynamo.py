"""`torch.compile(fullgraph=True)` with the streams, events and devices of `torch.npu`.

Each program is compiled without graph breaks and gives what it gives without compiling.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
from torch._dynamo import trace_rules
from torch._dynamo.exc import Unsupported
from torch._dynamo.variables import torch as torch_variables

from torch_npu import _C
from torch_npu._init.patches import dynamo_rules

Program = Callable[[torch.Tensor], torch.Tensor]
npu = torch.npu

BACKENDS = ("eager", "aot_eager")

SIDE = npu.Stream()
OTHER = npu.Stream()
EVENT = npu.Event()
BLOCK = npu.stream(SIDE)
AUTOCAST = npu.amp.autocast(dtype=torch.bfloat16)

# (device, stream) at each call of `here` since a test began.
places: list[tuple[int, int]] = []


@torch.library.custom_op("torch_npu_test::here", mutates_args=())
def here(x: torch.Tensor) -> torch.Tensor:
    """A copy of `x`; notes where it is made."""
    places.append((npu.current_device(), npu.current_stream().stream_id))
    return x.clone()


here.register_fake(torch.empty_like)
here.register_autograd(lambda _context, gradient: gradient.clone())


@pytest.fixture(autouse=True)
def clean_state() -> Iterator[None]:
    torch._dynamo.reset()
    places.clear()
    yield
    device, stream = npu.current_device(), npu.current_stream()
    npu.set_device(0)
    npu.set_stream(npu.default_stream())
    assert (device, stream) == (0, npu.default_stream())


def a_new_stream(x: torch.Tensor) -> torch.Tensor:
    stream = npu.Stream()
    stream.wait_stream(npu.current_stream())
    with npu.stream(stream):
        y = x * 3
    npu.current_stream().wait_stream(stream)
    return y + 1


def a_stream_with_arguments(x: torch.Tensor) -> torch.Tensor:
    stream = npu.Stream("npu:0", priority=-1)
    stream.wait_stream(npu.current_stream())
    with npu.StreamContext(stream):
        y = x * 3
    stream.synchronize()
    return y + stream.priority


def a_block_made_outside(x: torch.Tensor) -> torch.Tensor:
    SIDE.wait_stream(npu.current_stream())
    with BLOCK:
        y = x * 3
    npu.current_stream().wait_stream(SIDE)
    return y


def no_stream(x: torch.Tensor) -> torch.Tensor:
    with npu.stream(None):
        return x * 3


def the_default_stream(x: torch.Tensor) -> torch.Tensor:
    npu.default_stream().wait_stream(npu.current_stream())
    return x + (1 if npu.current_stream() == npu.default_stream() else 2)


def what_a_stream_is(x: torch.Tensor) -> torch.Tensor:
    stream = npu.current_stream(x.device)
    numbers = stream.device.index + stream.priority + (stream.npu_stream != 0)
    same = (SIDE == SIDE) + 2 * (SIDE == OTHER) + 4 * (SIDE != OTHER) + 8 * (hash(SIDE) != 0)
    return x + numbers + same + 16 * isinstance(stream, npu.Stream)


def a_queried_stream(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    SIDE.query()
    return y


def a_new_event(x: torch.Tensor) -> torch.Tensor:
    event = npu.Event()
    event.record()
    y = x + 1
    npu.current_stream().wait_event(event)
    event.synchronize()
    return y


def an_event_with_positional_arguments(x: torch.Tensor) -> torch.Tensor:
    event = npu.Event(True, False)
    event.record(SIDE)
    event.wait(npu.current_stream())
    return x + isinstance(event, npu.Event)


def an_event_made_outside(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    EVENT.record()
    EVENT.wait(SIDE)
    EVENT.query()
    return y


def a_recorded_event(x: torch.Tensor) -> torch.Tensor:
    SIDE.wait_event(npu.current_stream().record_event())
    with SIDE:
        y = x * 3
    SIDE.record_event(EVENT).wait()
    return y


def a_recorded_stream(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    y.record_stream(SIDE)
    return y


def the_current_device(x: torch.Tensor) -> torch.Tensor:
    return x + npu.current_device() + torch.get_device_module("npu").current_device()


def another_device(x: torch.Tensor) -> torch.Tensor:
    with npu.device(1):
        inside = torch.ones(8, 8, device="npu")
        index = npu.current_device()
    with npu.device(None), npu.device(torch.device("npu", 0)):
        return x + inside.to("npu:0") * (index + inside.device.index)


def tensors_of_another_device(x: torch.Tensor) -> torch.Tensor:
    with npu.device("npu:1"):
        return torch.full((8, 8), 2.0, device="npu")


def the_device_of_a_tensor(x: torch.Tensor) -> torch.Tensor:
    with npu.device_of(x), npu._DeviceGuard(1):
        return torch.ones(8, 8, device="npu")


def exchanged_devices(x: torch.Tensor) -> torch.Tensor:
    before = npu._exchange_device(1)
    y = torch.ones(8, 8, device="npu")
    npu._maybe_exchange_device(before)
    return y


def counts_and_names(x: torch.Tensor) -> torch.Tensor:
    numbers = npu.device_count() + _C._npu_getDeviceCount() + len(npu.get_device_name(0))
    properties = npu.get_device_properties(x.device)
    return x + numbers + properties.cube_core_num + npu.get_soc_version() + len(npu.get_arch_list())


def questions(x: torch.Tensor) -> torch.Tensor:
    answers = (
        *(npu.is_available(), npu.is_initialized(), npu.is_bf16_supported()),
        *(npu._is_in_bad_fork(), _C._npu_isInBadFork(), npu.can_device_access_peer(0, 1)),
        *(npu.amp.amp_definitely_not_available(), npu.is_current_stream_capturing()),
    )
    for number, answer in enumerate(answers):
        x = x + answer * 2**number
    return x


def synchronised_devices(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    npu.synchronize()
    npu.synchronize(1)
    npu.synchronize(x.device)
    return y


def initialisation(x: torch.Tensor) -> torch.Tensor:
    npu.init()
    npu._lazy_init()
    npu.ipc_collect()
    return x + 1


def memory_that_is_given_back(x: torch.Tensor) -> torch.Tensor:
    npu.empty_cache()
    npu.reset_peak_memory_stats()
    npu.reset_accumulated_memory_stats()
    return x + 1


def a_mark_in_a_profile(x: torch.Tensor) -> torch.Tensor:
    npu.mstx.mstx.mark("here")
    return x + 1


def autocast(x: torch.Tensor) -> torch.Tensor:
    with npu.amp.autocast():
        y = (x @ x) * npu.is_autocast_enabled()
    with npu.amp.autocast(dtype=torch.bfloat16), npu.amp.autocast(False):
        z = x @ x
    return y.float() + z


def autocast_made_outside(x: torch.Tensor) -> torch.Tensor:
    with AUTOCAST:
        return x @ x


@npu.amp.autocast()
def _product(x: torch.Tensor) -> torch.Tensor:
    return x @ x


def a_function_with_autocast(x: torch.Tensor) -> torch.Tensor:
    return _product(x)


class _Double(torch.autograd.Function):
    @staticmethod
    @npu.amp.custom_fwd(cast_inputs=torch.float16)
    def forward(context, x):
        return x @ x

    @staticmethod
    @npu.amp.custom_bwd
    def backward(context, gradient):
        return gradient * 2


def an_autograd_function(x: torch.Tensor) -> torch.Tensor:
    with npu.amp.autocast():
        return _Double.apply(x)


def legacy_tensor_types(x: torch.Tensor) -> torch.Tensor:
    made = npu.FloatTensor([1.0, 2.0, 3.0])
    assert x.type() == "torch.npu.FloatTensor"
    return x.type(npu.HalfTensor)[0, :3] + made + x[0, :3].type("torch.npu.DoubleTensor")


PROGRAMS: tuple[Program, ...] = (
    *(a_new_stream, a_stream_with_arguments, a_block_made_outside, no_stream, the_default_stream),
    *(what_a_stream_is, a_queried_stream, a_new_event, an_event_with_positional_arguments),
    *(an_event_made_outside, a_recorded_event, a_recorded_stream, the_current_device),
    *(another_device, tensors_of_another_device, the_device_of_a_tensor, exchanged_devices),
    *(counts_and_names, questions, synchronised_devices, initialisation, a_mark_in_a_profile),
    *(memory_that_is_given_back, autocast, autocast_made_outside, a_function_with_autocast),
    *(an_autograd_function, legacy_tensor_types),
)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_is_one_graph(program: Program, backend: str) -> None:
    x = torch.arange(64.0, device="npu").reshape(8, 8) / 64
    compiled = torch.compile(program, backend=backend, fullgraph=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Dynamo does not know how to trace")
        compiled(x)
    got, expected = compiled(x), program(x)
    assert (got.device, got.dtype) == (expected.device, expected.dtype)
    assert torch.equal(got, expected)


def nested_blocks(x: torch.Tensor) -> torch.Tensor:
    x = here(x.sin())
    SIDE.wait_stream(npu.current_stream())
    with npu.stream(SIDE):
        x = here(x)
        OTHER.wait_stream(SIDE)
        with npu.StreamContext(OTHER):
            x = here(x)
        SIDE.wait_stream(OTHER)
        with SIDE:
            x = here(x)
    npu.current_stream().wait_stream(SIDE)
    return here(x)


def selected_streams(x: torch.Tensor) -> torch.Tensor:
    SIDE.wait_stream(npu.current_stream())
    npu.set_stream(SIDE)
    x = here(x.sin())
    OTHER.wait_stream(npu.current_stream())
    with npu.stream(OTHER):
        x = here(x)
    npu.current_stream().wait_stream(OTHER)
    x = here(x)
    npu.set_stream(npu.default_stream())
    npu.current_stream().wait_stream(SIDE)
    return here(x)


def selected_devices(x: torch.Tensor) -> torch.Tensor:
    with npu.device(1):
        y = here(torch.ones(8, 8, device="npu"))
        with npu.device(0):
            x = here(x.sin())
        y = here(y)
    return here(x + y.to("npu:0"))


@pytest.mark.parametrize("gradient", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [nested_blocks, selected_streams, selected_devices])
def test_work_lies_on_the_streams_and_devices_that_the_program_names(
    program: Program, backend: str, gradient: bool
) -> None:
    def run(function: Program) -> tuple[list[tuple[int, int]], torch.Tensor, torch.Tensor | None]:
        x = torch.ones(8, 8, device="npu", requires_grad=gradient)
        places.clear()
        result = function(x)
        seen = list(places)
        if gradient:
            result.sum().backward()
        return seen, result.detach(), x.grad

    compiled = torch.compile(program, backend=backend, fullgraph=True)
    run(compiled)
    got, expected = run(compiled), run(program)
    assert got[0] == expected[0]
    assert torch.equal(got[1], expected[1])
    if gradient:
        assert torch.equal(got[2], expected[2])


@pytest.mark.parametrize("backend", BACKENDS)
def test_streams_and_events_of_a_graph_can_be_returned(backend: str) -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, torch.npu.Event, torch.npu.Stream]:
        stream, event = npu.Stream(), npu.Event(enable_timing=True)
        stream.wait_stream(npu.current_stream())
        with npu.stream(stream):
            y = x + 1
            event.record()
        return y, event, stream

    compiled = torch.compile(program, backend=backend, fullgraph=True)
    x = torch.ones(3, device="npu")
    events = []
    for _ in range(2):
        y, event, stream = compiled(x)
        assert type(stream) is npu.Stream
        assert type(event) is npu.Event
        stream.synchronize()
        assert event.query()
        assert y.tolist() == [2.0] * 3
        events.append(event)
    assert events[0] is not events[1]
    assert events[0].elapsed_time(events[1]) >= 0


def test_graph_is_compiled_again_for_another_current_device() -> None:
    compiled = torch.compile(the_current_device, backend="eager", fullgraph=True)
    assert compiled(torch.zeros(1)).item() == 0
    with npu.device(1):
        assert compiled(torch.zeros(1)).item() == 2


def test_block_with_a_graph_break_runs_on_its_stream() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        SIDE.wait_stream(npu.current_stream())
        with npu.stream(SIDE):
            x = here(x)
            torch._dynamo.graph_break()
            x = here(x)
        npu.current_stream().wait_stream(SIDE)
        return here(x)

    x = torch.ones(3, device="npu")
    assert torch.equal(torch.compile(program, backend="eager")(x), x)
    assert [stream for _, stream in places] == [SIDE.stream_id, SIDE.stream_id, 0]


def _a_stream_of_another_device(x: torch.Tensor) -> torch.Tensor:
    npu.current_stream(1).synchronize()
    return x + 1


def _a_random_state(x: torch.Tensor) -> torch.Tensor:
    npu.manual_seed(1)
    return x + 1


def _a_time(x: torch.Tensor) -> torch.Tensor:
    return x + 0 * EVENT.elapsed_time(EVENT)


def _a_tensor_type_asked_for(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if isinstance(x, npu.FloatTensor) else x


@pytest.mark.parametrize(
    "program", [_a_stream_of_another_device, _a_random_state, _a_time, _a_tensor_type_asked_for]
)
def test_what_a_graph_cannot_hold_breaks_it(program: Program) -> None:
    x = torch.ones(3, device="npu")
    with pytest.raises(Unsupported):
        torch.compile(program, backend="eager", fullgraph=True)(x)
    if program is not _a_time:
        assert torch.equal(torch.compile(program, backend="eager")(x), x + 1)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: npu.Event(interprocess=True, enable_timing=True), ValueError),
        (lambda: npu.Stream("cuda:0"), ValueError),
        (lambda: npu.Stream(0, 0, 0), TypeError),
        (lambda: npu.synchronize("cpu"), ValueError),
        (lambda: EVENT.record(1), TypeError),
    ],
)
def test_wrong_use_raises_what_it_raises_without_compiling(wrong, error: type[Exception]) -> None:
    with pytest.raises(error) as expected:
        wrong()

    def program(x: torch.Tensor) -> torch.Tensor:
        wrong()
        return x

    with pytest.raises(error) as got:
        torch.compile(program, backend="eager")(torch.ones(1))
    assert str(got.value) == str(expected.value)


def test_every_function_that_cuda_has_a_rule_for_has_the_same_here() -> None:
    known = {**dict.fromkeys(dynamo_rules.CONSTANT), **dict.fromkeys(dynamo_rules.GUARDED)}
    compared = 0
    for table in trace_rules.torch_name_rule_map:
        for name, rule in table.items():
            function = dynamo_rules.counterpart(name)
            if function is not None:
                assert trace_rules.lookup(function) is rule, name
                compared += 1
    assert compared > 100
    for function in known:
        assert function in torch_variables.constant_fold_functions


def test_rules_outlive_the_cache_that_pytorch_clears() -> None:
    trace_rules.clear_lru_cache()
    assert trace_rules.lookup(npu.current_device) is torch_variables.TorchInGraphFunctionVariable
    assert trace_rules.lookup(_C._npu_getDevice) is torch_variables.TorchInGraphFunctionVariable
    assert trace_rules.lookup(npu.manual_seed) is trace_rules.SkipFunctionVariable
