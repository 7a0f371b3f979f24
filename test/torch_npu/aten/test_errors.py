"""A wrong call raises where it stands, with PyTorch's own type; what only data tell comes later."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

Call = Callable[[str], object]


def ones(device: str, *sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(*sizes, dtype=dtype, device=device)


WRONG: dict[str, Call] = {
    "shapes that do not broadcast": lambda d: ones(d, 2) + ones(d, 3),
    "matrices that do not fit": lambda d: ones(d, 2, 3) @ ones(d, 2, 3),
    "a batch of another size": lambda d: torch.bmm(ones(d, 2, 3, 4), ones(d, 3, 4, 3)),
    "a bias that does not expand": lambda d: torch.addmm(ones(d, 7), ones(d, 3, 4), ones(d, 4, 3)),
    "a name of nothing": lambda d: nn.functional.gelu(ones(d, 3), approximate="none at all"),
    "a dimension out of range": lambda d: ones(d, 3).sum(3),
    "a dimension to roll out of range": lambda d: ones(d, 3).roll(1, 4),
    "a dimension to flip out of range": lambda d: ones(d, 3).flip(4),
    "an index of another dtype": lambda d: ones(d, 3).index_select(0, ones(d, 1)),
    "a mask of another dtype": lambda d: ones(d, 3).masked_fill(ones(d, 3), 1.0),
    "a fill value that does not fit": lambda d: ones(d, 3).masked_fill(ones(d, 3) > 0, 1e300),
    "bits of floats": lambda d: ones(d, 3) & ones(d, 3),
    "normal numbers of integers": lambda d: ones(d, 3, dtype=torch.int64).normal_(),
    "a square root of booleans": lambda d: nn.functional.gelu(ones(d, 3, dtype=torch.bool)),
    "channels that do not fit": lambda d: nn.Conv2d(2, 1, 3).to(d)(ones(d, 1, 3, 4, 4)),
    "a weight of another shape": lambda d: torch.layer_norm(ones(d, 3, 4), (4,), ones(d, 3)),
    "more than there is": lambda d: ones(d, 2).topk(9),
    "a negative size": lambda d: torch.eye(-1, device=d),
    "a step of the wrong sign": lambda d: torch.arange(0, 5, -1, device=d),
    "a step of nothing": lambda d: torch.arange(0, 5, 0, device=d),
    "complex numbers of another precision": lambda d: torch.complex(
        ones(d, 3), ones(d, 3), out=ones(d, 3, dtype=torch.complex128)
    ),
    "an out that is read": lambda d: (
        lambda x: torch.masked_select(x, x.isfinite(), out=x)
    )(ones(d, 3)),
    "an out of one element": lambda d: torch.nonzero(
        ones(d, 3), out=ones(d, 1, 1, dtype=torch.int64).expand(3, 1)
    ),
    "an out of another dtype": lambda d: torch.narrow_copy(
        ones(d, 3), 0, 1, 2, out=ones(d, 2, dtype=torch.int64)
    ),
    "eigenvalues that are real": lambda d: torch.linalg.eigvals(ones(d, 2, 2), out=ones(d, 2)),
    "indices that are no numbers": lambda d: nn.functional.embedding_bag(
        ones(d, 3), ones(d, 2, 2), ones(d, 1)
    ),
    "weights for a mean": lambda d: nn.functional.embedding_bag(
        ones(d, 3, dtype=torch.int64), ones(d, 2, 2), ones(d, 1, dtype=torch.int64) * 0,
        mode="mean", per_sample_weights=ones(d, 3)
    ),
    "a product of other sizes": lambda d: torch._scaled_mm(
        *[ones(d, 2, 3).to(torch.float8_e4m3fn)] * 2, *[ones(d)] * 2
    ),
    "a negative deviation": lambda d: ones(d, 3).normal_(0, -1),
    "too many samples": lambda d: torch.multinomial(ones(d, 3), 5),
    "a matrix without an inverse": lambda d: torch.linalg.inv(torch.zeros(3, 3, device=d)),
    "no element to reduce": lambda d: ones(d, 0).argmax(),
    "a view of another size": lambda d: ones(d, 3).view(2, 2),
    "lists of other shapes": lambda d: torch._foreach_add([ones(d, 3)], [ones(d, 2)]),
    "lists of other lengths": lambda d: torch._foreach_mul_([ones(d, 3)], [ones(d, 3)] * 2),
    "a list of integers for roots": lambda d: torch._foreach_sqrt_([ones(d, 3).int()]),
    "a list that does not grow in place": lambda d: torch._foreach_div_([ones(d, 1)], [ones(d, 3)]),
    "a list of one element many times": lambda d: torch._foreach_sin_([ones(d, 1).expand(3)]),
    "ends of another dtype": lambda d: torch._foreach_lerp_([ones(d, 3)], [ones(d, 3).int()], 0.5),
    "too few numbers for a list": lambda d: torch._foreach_addcmul_(
        [ones(d, 3)] * 2, [ones(d, 3)] * 2, [ones(d, 3)] * 2, torch.ones(1)
    ),
    "a mask of floats": lambda d: torch._masked_softmax(ones(d, 2, 3), ones(d, 2, 3), 1),
    "one of two statistics": lambda d: torch.native_batch_norm(
        ones(d, 2, 3), None, None, ones(d, 3), None, True, 0.1, 1e-5
    ),
    "a weight of another dtype": lambda d: torch.native_group_norm(
        ones(d, 2, 4, 3), ones(d, 4, dtype=torch.float64), None, 2, 4, 3, 2, 1e-5
    ),
    "factors of two dtypes": lambda d: torch.addbmm(
        ones(d, 2, 2), ones(d, 1, 2, 2), ones(d, 1, 2, 2).int(), out=ones(d, 2, 2)
    ),
    "noise of another shape": lambda d: torch.ops.aten.rrelu_with_noise_(
        ones(d, 3), ones(d, 1, 3), 0.1, 0.3, True
    ),
    "a derivative of another size": lambda d: torch.ops.aten.glu_jvp(
        ones(d, 3), ones(d, 5), ones(d, 5), 0
    ),
    "a range without zero": lambda d: (
        torch.ops.aten._fake_quantize_learnable_per_tensor_affine_backward(
            ones(d, 3), ones(d, 3), ones(d, 1), ones(d, 1), 1, 5
        )
    ),
    "a zero point out of range": lambda d: torch.fake_quantize_per_tensor_affine(
        ones(d, 3), 1.0, 9, 0, 5
    ),
}  # fmt: skip

WRONG_OUTPUTS: dict[str, Call] = {
    "histc": lambda d: torch.histc(ones(d, 3), 4, out=ones(d, 4).double()),
    "a loss": lambda d: torch.ops.aten.binary_cross_entropy.out(
        ones(d, 3), ones(d, 3), out=ones(d).int()
    ),
    "log_sigmoid": lambda d: torch.ops.aten.log_sigmoid_forward.output(
        ones(d, 3), output=ones(d, 3).double(), buffer=ones(d, 0)
    ),
    "a margin loss": lambda d: torch.ops.aten.multilabel_margin_loss_forward.output(
        ones(d, 3), ones(d, 3).long(), 1, output=ones(d).double(), is_target=ones(d, 3)
    ),
    "the most frequent": lambda d: torch.mode(ones(d, 3), out=(ones(d).double(), ones(d).long())),
    "places of a maximum": lambda d: torch.ops.aten.max_pool3d_with_indices.out(
        ones(d, 1, 2, 2, 2), 2, out=ones(d, 1, 1, 1, 1), indices=ones(d, 1, 1, 1, 1).int()
    ),
    "taken elements": lambda d: torch.take(ones(d, 3), ones(d, 1).long(), out=ones(d, 1).half()),
    "a mean": lambda d: torch.ops.aten.mean.out(ones(d, 3), [0], out=ones(d).long()),
    "an exponent": lambda d: torch.frexp(ones(d, 3), out=(ones(d, 3), ones(d, 3))),
    "a stack": lambda d: torch.stack([ones(d, 3)], out=ones(d, 1, 3).int()),
    "averages": lambda d: torch.ops.aten.adaptive_avg_pool3d.out(
        ones(d, 1, 2, 2, 2), [1, 1, 1], out=ones(d, 1, 1, 1, 1).half()
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_call_raises_the_cpus_error(name: str) -> None:
    with pytest.raises(Exception) as on_cpu:  # noqa: PT011 - the CPU says which
        WRONG[name]("cpu")
    with pytest.raises(type(on_cpu.value)):
        WRONG[name]("npu")
    torch.npu.synchronize()  # nothing was left in the stream


@pytest.mark.parametrize("name", WRONG_OUTPUTS)
def test_output_of_a_dtype_that_the_cpu_refuses_raises_its_error(name: str) -> None:
    call = WRONG_OUTPUTS[name]
    if name != "averages":  # the CPU's kernel writes beyond that one
        with pytest.raises(Exception) as on_cpu:  # noqa: PT011 - the CPU says which
            call("cpu")
    for _ in range(2):
        with pytest.raises(type(on_cpu.value) if name != "averages" else RuntimeError):
            call("npu")
    torch.npu.synchronize()


def test_output_of_another_dtype_that_the_cpu_takes_is_written() -> None:
    out = torch.empty(3, dtype=torch.float64, device="npu")
    torch.logit(torch.full((3,), 0.25, device="npu"), out=out)
    expected = torch.empty(3, dtype=torch.float64)
    torch.logit(torch.full((3,), 0.25), out=expected)
    torch.testing.assert_close(out.cpu(), expected)


def test_lists_that_pytorchs_meta_functions_refuse_are_taken_as_on_the_cpu() -> None:
    flags = [torch.tensor([True, False])]
    expected = torch._foreach_pow(flags, True)
    actual = torch._foreach_pow([x.npu() for x in flags], True)
    torch.testing.assert_close([x.cpu() for x in actual], list(expected))


def test_norms_of_complex_lists_are_real() -> None:
    numbers = [torch.tensor([3 + 4j, 0j])]
    expected, actual = (torch._foreach_norm([x.to(d) for x in numbers]) for d in ("cpu", "npu"))
    torch.testing.assert_close([x.cpu() for x in actual], list(expected))


def test_wrong_call_is_refused_each_time() -> None:
    """Also if it is one that only the run tells from a right one."""
    for _ in range(3):
        with pytest.raises(RuntimeError, match="boolean"):
            WRONG["a mask of floats"]("npu")


def test_call_without_elements_does_not_vouch_for_one_with_some() -> None:
    assert torch.log_softmax(ones("npu", 0, dtype=torch.int32), 0).numel() == 0
    with pytest.raises(NotImplementedError):
        torch.log_softmax(ones("npu", 3, dtype=torch.int32), 0)


def test_call_in_doubt_is_waited_for_once() -> None:
    """Its lengths must add up to what there is, which zeros do not."""
    data, lengths = ones("npu", 3), torch.tensor([1, 2], device="npu")
    first = torch.segment_reduce(data, "sum", lengths=lengths)
    assert first.tolist() == [1, 2]
    stream, event = torch.npu.Stream(), torch.npu.ExternalEvent()
    with torch.npu.stream(stream):
        event.wait(stream)
        second = torch.segment_reduce(data, "sum", lengths=lengths)  # returns: nobody waits
        assert not stream.query()
    event.record()
    stream.synchronize()
    assert second.tolist() == [1, 2]


def test_wrong_device_is_named() -> None:
    with pytest.raises(RuntimeError, match="npu:0 and cpu"):
        ones("npu", 3) + ones("cpu", 3)


LATE: dict[str, tuple[Call, str]] = {
    "index": (lambda d: ones(d, 3)[torch.tensor([7], device=d)], "aclnnIndex.*out of bounds"),
    "embedding": (
        lambda d: nn.functional.embedding(torch.tensor([9], device=d), ones(d, 2, 2)),
        "aclnnEmbedding.*index out of range",
    ),
    "class": (
        lambda d: nn.functional.nll_loss(ones(d, 1, 3), torch.tensor([5], device=d)),
        "aclnnNLLLoss.*out of bounds",
    ),
}


NUMBER_ON_CPU: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "an output": lambda host, x: torch.abs(x, out=host),
    "a reduction's output": lambda host, x: torch.max(x.reshape(1), out=host),
    "what is divided in place": lambda host, x: host.floor_divide_(x),
    "what is filled in place": lambda host, x: host.index_fill_(0, x.long(), 5.0),
    "one of a list": lambda host, x: torch._foreach_add_([host], [x]),
}


@pytest.mark.parametrize("name", NUMBER_ON_CPU)
def test_a_number_on_the_cpu_is_read_but_never_taken_for_an_output(name: str) -> None:
    host, x = torch.tensor(7.0), torch.tensor(0.0, device="npu")
    with pytest.raises(RuntimeError, match="same device"):
        NUMBER_ON_CPU[name](host, x)
    assert (x + host).item() == 7


@pytest.mark.parametrize("form", [torch.logical_and, torch.hypot, torch.mul])
def test_an_output_that_shares_a_part_of_an_input_is_refused(
    form: Callable[..., torch.Tensor],
) -> None:
    memory = torch.ones(9, device="npu")
    with pytest.raises(RuntimeError, match="single memory location"):
        form(memory[:5], memory[:5], out=memory[2:7])
    form(memory[:5], memory[:5], out=memory[:5])


def test_an_element_of_what_is_filled_may_be_the_value() -> None:
    x = torch.arange(4.0, device="npu")
    assert x.fill_(x[3]).tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("name", LATE)
def test_wrong_data_are_reported_with_the_operator_and_the_stream_goes_on(name: str) -> None:
    call, message = LATE[name]
    call("npu")
    with pytest.raises(RuntimeError, match=message):
        torch.npu.synchronize()
    assert ones("npu", 3).sum().item() == 3


def test_failed_stream_leaves_the_others_alone() -> None:
    first, second = torch.npu.Stream(), torch.npu.Stream()
    with torch.npu.stream(first):
        ones("npu", 3)[torch.tensor([7], device="npu")]
    with torch.npu.stream(second):
        assert ones("npu", 3).sum().item() == 3
    with pytest.raises(RuntimeError, match="aclnnIndex"):
        first.synchronize()


def test_arguments_are_untouched_by_the_check_of_their_dtypes() -> None:
    """The first call with new dtypes tries the kernel; in place, on zeros of its own."""
    for dtype in (torch.float64, torch.int16, torch.uint8, torch.complex64):
        tensor = torch.full((5,), 3, dtype=dtype, device="npu")
        tensor.mul_(2)
        assert tensor.tolist() == [6] * 5


def test_random_numbers_are_those_of_the_seed_whether_dtypes_are_new_or_not() -> None:
    def draw() -> list[float]:
        torch.npu.manual_seed(3)
        return torch.empty(4, dtype=torch.float64, device="npu").uniform_().tolist()

    assert draw() == draw()
