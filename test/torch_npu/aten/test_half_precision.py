"""float16 and bfloat16 computed in float32: as exact as PyTorch's own kernels, or more."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map_only

from operators import schema

HALVES = (torch.float16, torch.bfloat16)

# The entries of PyTorch's operator database that reach the converted rows of the table, by the ATen
# functions of those rows.
ENTRIES = {
    "addmm": ("addmm", "nn.functional.linear"),
    "baddbmm": ("baddbmm",),
    "mm": ("mm", "einsum", "linalg.multi_dot", "nn.functional.bilinear"),
    "addmv": ("addmv",),
    "bmm": ("bmm", "matmul"),
    "dot": ("dot",),
    "vdot": ("vdot",),
    "mv": ("mv",),
    "addr": ("addr",),
    "addbmm": ("addbmm",),
    "_addmm_activation": ("addmm",),
    "linalg_cross": ("linalg.cross",),
    "_cdist_forward": ("cdist",),
    "linalg_matrix_exp": ("matrix_exp",),
    "convolution_overrideable": (
        "nn.functional.conv1d",
        "nn.functional.conv2d",
        "nn.functional.conv3d",
        "nn.functional.conv_transpose1d",
        "nn.functional.conv_transpose2d",
        "nn.functional.conv_transpose3d",
    ),
    "convolution_backward_overrideable": ("nn.functional.conv2d",),
    "erfc": ("erfc",),
    "erfinv": ("erfinv",),
    "logit": ("logit",),
    "pow.Tensor_Scalar": ("pow",),
    "xlogy.Tensor": ("xlogy",),
    "xlogy.Scalar_Other": ("xlogy",),
    "xlogy.Scalar_Self": ("xlogy",),
    "floor_divide": ("floor_divide",),
    "floor_divide_.Tensor": ("floor_divide",),
    "floor_divide.Scalar": ("floor_divide",),
    "logical_xor": ("logical_xor",),
    "logical_xor_": ("logical_xor",),
    "nonzero": ("nonzero",),
    "grid_sampler_2d": ("nn.functional.grid_sample",),
    "grid_sampler_2d_backward": ("nn.functional.grid_sample",),
    "grid_sampler_3d": ("nn.functional.grid_sample",),
    "grid_sampler_3d_backward": ("nn.functional.grid_sample",),
    "col2im": ("nn.functional.fold",),
    "binary_cross_entropy": ("nn.functional.binary_cross_entropy",),
    "binary_cross_entropy_backward": ("nn.functional.binary_cross_entropy",),
    "huber_loss": ("nn.functional.huber_loss",),
    "huber_loss_backward": ("nn.functional.huber_loss",),
    "argmax": ("argmax",),
    "argmin": ("argmin",),
    "all": ("all",),
    "all.dim": ("all",),
    "all.dims": ("all",),
    "norm.ScalarOpt_dim": ("norm",),
    "_cummax_helper": ("cummax",),
    "_cummin_helper": ("cummin",),
    "median": ("median",),
    "median.dim": ("median",),
    "nanmedian": ("nanmedian",),
    "nanmedian.dim": ("nanmedian",),
    "kthvalue": ("kthvalue",),
    "topk": ("topk",),
    "searchsorted.Tensor": ("searchsorted",),
    "bucketize.Tensor": ("bucketize",),
    "_adaptive_avg_pool3d": ("nn.functional.adaptive_avg_pool3d",),
    "adaptive_avg_pool3d.out": ("nn.functional.adaptive_avg_pool3d",),
    "_adaptive_avg_pool3d_backward": ("nn.functional.adaptive_avg_pool3d",),
    "adaptive_avg_pool3d_backward.grad_input": ("nn.functional.adaptive_avg_pool3d",),
    "adaptive_max_pool3d": ("nn.functional.adaptive_max_pool3d",),
    "upsample_linear1d": ("nn.functional.interpolate",),
    "upsample_trilinear3d": ("nn.functional.interpolate",),
    "upsample_trilinear3d_backward": ("nn.functional.interpolate",),
    "upsample_bicubic2d_backward": ("nn.functional.interpolate",),
    "upsample_nearest3d": ("nn.functional.interpolate",),
    "reflection_pad1d_backward": ("nn.functional.pad",),
    "replication_pad1d_backward": ("nn.functional.pad",),
    "special_entr": ("special.entr",),
    "special_xlog1py": ("special.xlog1py",),
    "special_i1e": ("special.i1e",),
    "gelu_backward": ("nn.functional.gelu",),
}
# Compared below: operators that the database does not have, or has apart.
BELOW = {"_masked_softmax", "mm.dtype", "bmm.dtype", "addmm.dtype", "baddbmm.dtype"}
SAMPLES = 12


def converted_functions() -> set[str]:
    rows = schema.load(pathlib.Path(schema.__file__).parent / "table")
    return {entry.op for row in rows if row.half != "native" for entry in row.aten}


def test_every_converted_row_is_compared():
    functions = {name for name in converted_functions() if not name.startswith("_foreach")}
    functions = {name for name in functions if "(" not in name}  # Ascend's own
    assert functions - BELOW == set(ENTRIES)


def on(device: str, dtype: torch.dtype, tree: Any) -> Any:
    """Copies on `device`, those of half precision in `dtype`."""

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        wanted = dtype if tensor.dtype in HALVES else tensor.dtype
        return tensor.detach().to(device, wanted).requires_grad_(tensor.requires_grad)

    return tree_map_only(torch.Tensor, copy, tree)


def results(entry: Any, arguments: Any) -> list[torch.Tensor]:
    """Outputs and, where there are some, the gradients of their sum, on the CPU."""
    args, kwargs = arguments
    outputs = [t for t in tree_leaves(entry.op(*args, **kwargs)) if isinstance(t, torch.Tensor)]
    leaves = [t for t in tree_leaves(arguments) if isinstance(t, torch.Tensor) and t.requires_grad]
    differentiable = [t for t in outputs if t.requires_grad]
    gradients: list[torch.Tensor] = []
    if leaves and differentiable:
        found = torch.autograd.grad(
            differentiable, leaves, [torch.ones_like(t) for t in differentiable], allow_unused=True
        )
        gradients = [t for t in found if t is not None]
    return [t.detach().cpu() for t in (*outputs, *gradients)]


def error(result: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    difference = (result.double() - truth).abs().nan_to_num(nan=float("inf"))
    return torch.where(truth.isfinite(), difference, 0.0)


def entries() -> list[Any]:
    wanted = set(itertools.chain(*ENTRIES.values()))
    return [entry for entry in op_db if entry.name in wanted]


@pytest.mark.parametrize("dtype", HALVES, ids=lambda dtype: str(dtype)[6:])
@pytest.mark.parametrize("entry", entries(), ids=lambda e: f"{e.name}.{e.variant_test_name}")
def test_results_are_no_less_exact_than_the_native_kernels(entry, dtype):
    if dtype not in entry.supported_dtypes("cpu"):
        pytest.skip("PyTorch's CPU kernel does not take this dtype")
    backward = dtype in entry.supported_backward_dtypes("cpu") and entry.supports_autograd
    torch.manual_seed(0)
    samples = entry.sample_inputs("cpu", dtype, requires_grad=backward)
    for sample in itertools.islice(samples, SAMPLES):
        arguments = ((sample.input, *sample.args), sample.kwargs)
        exact = results(entry, on("cpu", torch.float64, arguments))
        native = results(entry, on("cpu", dtype, arguments))
        ours = results(entry, on("npu", dtype, arguments))
        for truth, theirs, result in zip(exact, native, ours, strict=True):
            assert (result.dtype, result.shape) == (theirs.dtype, theirs.shape)
            if not result.dtype.is_floating_point:
                assert torch.equal(result, theirs)
                continue
            assert not (result.isnan() & ~theirs.isnan()).any()
            if truth.numel():
                slack = 1e-5 * truth.abs().nan_to_num(0, 0, 0).max()
                allowed = error(theirs, truth).max() * 1.01 + slack
                assert error(result, truth).max() <= allowed


def both(function: Any, *tensors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What `function` gives on npu (carried to the CPU) and on the CPU."""
    return function(*(t.npu() for t in tensors)).cpu(), function(*tensors)


@pytest.mark.parametrize("dtype", HALVES, ids=lambda dtype: str(dtype)[6:])
class TestAwkwardNumbers:
    def test_infinities_and_nan_go_through_products(self, dtype):
        a = torch.tensor([[float("inf"), 1.0], [float("nan"), 2.0], [-float("inf"), 0.0]]).to(dtype)
        for b in (torch.ones(2, 2), torch.tensor([[0.0, 1.0], [1.0, 0.0]])):
            ours, native = both(torch.mm, a, b.to(dtype))
            torch.testing.assert_close(ours, native, rtol=0, atol=0, equal_nan=True)

    def test_results_beyond_the_range_are_infinite(self, dtype):
        large = torch.full((4, 4), torch.finfo(dtype).max).to(dtype)
        ours, native = both(torch.mm, large, large)
        assert torch.equal(ours, native)
        assert ours.isinf().all()

    def test_subnormal_numbers_stay(self, dtype):
        tiny = torch.finfo(dtype).smallest_normal
        a = torch.full((3, 1), tiny / 4).to(dtype)
        ours, native = both(torch.mm, a, torch.ones(1, 3).to(dtype))
        assert torch.equal(ours, native)
        assert (ours != 0).all()

    def test_a_beta_of_zero_ignores_what_was_there(self, dtype):
        garbage = torch.full((8, 8), float("nan")).to(dtype)
        a = torch.randn(8, 8).to(dtype)
        out = torch.addmm(garbage.npu(), a.npu(), a.npu(), beta=0)
        torch.testing.assert_close(out.cpu(), torch.addmm(garbage, a, a, beta=0))
        written = garbage.npu()
        torch.mm(a.npu(), a.npu(), out=written)
        torch.testing.assert_close(written.cpu(), a @ a)

    def test_empty_factors_give_empty_products_or_zeros(self, dtype):
        for shape in ((0, 4), (4, 0), (0, 0)):
            a = torch.ones(shape, dtype=dtype)
            ours, native = both(lambda x: x @ x.T, a)
            assert torch.equal(ours, native)
        ours, native = both(torch.mm, torch.ones(3, 0).to(dtype), torch.ones(0, 2).to(dtype))
        assert torch.equal(ours, native)


@pytest.mark.parametrize("dtype", HALVES, ids=lambda dtype: str(dtype)[6:])
@pytest.mark.parametrize("size", [4, 40])  # converted one by one, and by ATen
class TestLayouts:
    def test_strided_factors(self, dtype, size):
        base = torch.randn(3 * size, 2 * size).to(dtype)
        ours, native = both(lambda x: x[::3, ::2] @ x[1::3, 1::2].T, base)
        torch.testing.assert_close(ours, native)

    def test_expanded_factors(self, dtype, size):
        base = torch.randn(1, size).to(dtype)
        ours, native = both(lambda x: x.expand(size, size) @ x.expand(size, size).T, base)
        torch.testing.assert_close(ours, native)

    def test_a_strided_output_leaves_its_neighbours_alone(self, dtype, size):
        a = torch.randn(size, size).to(dtype)
        whole = torch.full((size, 2 * size), 7.0).to(dtype).npu()
        torch.mm(a.npu(), a.npu(), out=whole[:, ::2])
        torch.testing.assert_close(whole[:, ::2].cpu(), a @ a)
        assert (whole[:, 1::2] == 7).all()

    def test_in_place_products(self, dtype, size):
        a, b = (torch.randn(size, size).to(dtype) for _ in range(2))
        ours, native = both(lambda x, y: x.clone().addmm_(x, y, beta=2, alpha=0.5), a, b)
        torch.testing.assert_close(ours, native)

    def test_channels_last_convolutions_keep_their_format(self, dtype, size):
        images = torch.randn(2, 8, size, size).to(dtype).to(memory_format=torch.channels_last)
        weight = torch.randn(8, 8, 3, 3).to(dtype)
        result = functional.conv2d(images.npu(), weight.npu(), padding=1)
        assert result.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(result.cpu(), functional.conv2d(images, weight, padding=1))


def nearly_rounded(result: torch.Tensor, exact: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether a float32 sum that was rounded once may differ so much from the exact one."""
    half_a_step = exact.abs() * torch.finfo(dtype).eps / 2
    return bool(((result.double() - exact).abs() <= half_a_step * 1.01 + 1e-5).all())


@pytest.mark.parametrize("dtype", HALVES, ids=lambda dtype: str(dtype)[6:])
@pytest.mark.parametrize("rows", range(1, 10))  # up to 8 have a way of their own
class TestThinProducts:
    def test_every_layout_of_the_large_matrix(self, dtype, rows):
        thin, wide = torch.randn(rows, 131).to(dtype), torch.randn(131, 77).to(dtype)
        exact = thin.double() @ wide.double()
        padded = torch.zeros(140, 90, dtype=dtype, device="npu")
        padded[:131, :77] = wide.npu()
        every_other = torch.zeros(262, 154, dtype=dtype, device="npu")
        every_other[::2, ::2] = wide.npu()
        for layout in (
            wide.npu(),
            wide.t().contiguous().npu().t(),
            padded[:131, :77],
            padded.t().contiguous().t()[:131, :77],
            every_other[::2, ::2],
        ):
            assert nearly_rounded((thin.npu() @ layout).cpu(), exact, dtype)
            swapped = layout.t() @ thin.npu().t()
            assert nearly_rounded(swapped.cpu(), exact.t(), dtype)

    def test_what_is_added_and_the_factors(self, dtype, rows):
        thin, wide = torch.randn(rows, 64).to(dtype), torch.randn(96, 64).to(dtype)
        for added in (torch.randn(96).to(dtype), torch.randn(rows, 96).to(dtype)):
            exact = 2 * added.double() - thin.double() @ wide.double().t()
            result = torch.addmm(added.npu(), thin.npu(), wide.npu().t(), beta=2, alpha=-1)
            assert nearly_rounded(result.cpu(), exact, dtype)

    def test_without_anything_to_sum_the_product_is_zero(self, dtype, rows):
        empty = torch.ones(rows, 0, dtype=dtype, device="npu") @ torch.ones(0, 5000).to(dtype).npu()
        assert torch.equal(empty.cpu(), torch.zeros(rows, 5000, dtype=dtype))

    def test_infinities_and_nan_stay_in_their_columns(self, dtype, rows):
        wide = torch.ones(64, 80).to(dtype)
        wide[3, 7], wide[5, 70] = float("inf"), float("nan")
        result = (torch.ones(rows, 64, dtype=dtype).npu() @ wide.npu()).cpu()
        assert result[:, 7].isinf().all()
        assert result[:, 70].isnan().all()
        assert (result.isfinite().sum(1) == 78).all()


def test_the_product_of_a_matrix_and_a_vector():
    for dtype in HALVES:
        matrix, vector = torch.randn(300, 200).to(dtype), torch.randn(200).to(dtype)
        exact = matrix.double() @ vector.double()
        assert nearly_rounded((matrix.npu() @ vector.npu()).cpu(), exact, dtype)
        added = torch.addmv(exact.to(dtype).npu(), matrix.npu(), vector.npu(), beta=0.5)
        wanted = 0.5 * exact.to(dtype).double() + exact
        assert nearly_rounded(added.cpu(), wanted, dtype)


def test_factors_of_half_precision_may_have_a_product_in_float32():
    for dtype in HALVES:
        a, b = torch.randn(3, 40, 50).to(dtype), torch.randn(3, 50, 60).to(dtype)
        added = torch.randn(3, 40, 60).to(dtype)
        exact = a.float() @ b.float()
        calls = {
            "mm": (exact[0], torch.mm, a[0], b[0]),
            "bmm": (exact, torch.bmm, a, b),
            "addmm": (added[0] + exact[0], torch.addmm, added[0], a[0], b[0]),
            "baddbmm": (added + exact, torch.baddbmm, added, a, b),
        }
        for wanted, function, *tensors in calls.values():
            result = function(*(t.npu() for t in tensors), out_dtype=torch.float32).cpu()
            assert result.dtype == torch.float32
            torch.testing.assert_close(result, wanted)


@pytest.mark.parametrize("dtype", HALVES, ids=lambda dtype: str(dtype)[6:])
class TestErrors:
    def test_factors_of_different_dtypes_are_refused_at_the_call(self, dtype):
        half, single = torch.ones(300, 300, dtype=dtype).npu(), torch.ones(300, 300).npu()
        with pytest.raises(RuntimeError, match="dtype"):
            half @ single
        with pytest.raises(RuntimeError):
            functional.conv2d(half.view(1, 1, 300, 300), single[:3, :3].reshape(1, 1, 3, 3))

    def test_shapes_that_do_not_fit_are_refused_at_the_call(self, dtype):
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            torch.ones(300, 4, dtype=dtype).npu() @ torch.ones(300, 4, dtype=dtype).npu()


def test_recurrent_layers_are_as_exact_as_the_native_ones():
    for dtype, kind in itertools.product(HALVES, (torch.nn.LSTM, torch.nn.GRU)):
        torch.manual_seed(0)
        model = kind(16, 32, num_layers=2, bidirectional=True).to(dtype)
        inputs = torch.randn(7, 3, 16).to(dtype)
        native = model(inputs)[0].detach()
        exact = model.double()(inputs.double())[0].detach()
        ours = model.to("npu", dtype)(inputs.npu())[0].detach().cpu()
        assert error(ours, exact).max() <= error(native, exact).max() * 1.01


def test_attention_is_as_exact_as_the_native_one():
    for dtype in HALVES:
        torch.manual_seed(0)
        q, k, v = (torch.randn(2, 4, 65, 32).to(dtype) for _ in range(3))
        attend = functional.scaled_dot_product_attention
        exact = attend(q.double(), k.double(), v.double(), is_causal=True)
        native = attend(q, k, v, is_causal=True)
        ours = attend(q.npu(), k.npu(), v.npu(), is_causal=True).cpu()
        assert error(ours, exact).max() <= error(native, exact).max() * 1.01


def test_operators_on_lists_are_as_exact_as_the_native_ones():
    lists = [torch.rand(size) + 0.5 for size in (3, 600)]
    for dtype, (name, *arguments) in itertools.product(
        HALVES,
        (("_foreach_pow", 3), ("_foreach_pow", [2.0, 0.5]), ("_foreach_erfc",), ("_foreach_norm",)),
    ):
        half = [t.to(dtype) for t in lists]
        function = getattr(torch, name)
        exact = function([t.double() for t in half], *arguments)
        native = function(half, *arguments)
        ours = function([t.npu() for t in half], *arguments)
        for truth, theirs, result in zip(exact, native, ours, strict=True):
            assert result.dtype == theirs.dtype
            assert error(result.cpu(), truth).max() <= error(theirs, truth).max() * 1.01


def test_a_masked_softmax_is_as_exact_as_the_native_one():
    for dtype in HALVES:
        x, mask = torch.randn(2, 3, 8, 8).to(dtype), torch.rand(8, 8) < 0.3
        exact = torch._masked_softmax(x.double(), mask, -1, 0)
        native = torch._masked_softmax(x, mask, -1, 0)
        ours = torch._masked_softmax(x.npu(), mask.npu(), -1, 0).cpu()
        assert error(ours, exact).max() <= error(native, exact).max() * 1.01


TOO_LARGE_TO_CONVERT = 70_000_000  # elements: more than 256 MiB in float32


def test_products_too_large_to_convert_go_by_tiles():
    long = torch.ones(2, TOO_LARGE_TO_CONVERT, dtype=torch.bfloat16, device="npu")
    long[1] = 0.5
    ones = long[:1].t()
    sums = torch.tensor([[7.0e7], [3.5e7]])
    assert torch.equal((long @ ones).cpu(), sums.bfloat16())
    added = torch.full((2, 1), 2.0**26).bfloat16()
    total = torch.addmm(added.npu(), long, ones, beta=-1, alpha=2)
    assert torch.equal(total.cpu(), (2 * sums - 2.0**26).bfloat16())
    outer = torch.mm(ones, torch.tensor([[1.0, 3.0]]).bfloat16().npu())
    assert outer.sum(0, dtype=torch.float64).tolist() == [7.0e7, 2.1e8]


def test_convolutions_too_large_to_convert_go_by_samples():
    images = torch.randn(70, 8, 256, 256, device="npu").bfloat16()
    assert 2 * images.numel() > 2**26  # with the output, more than 256 MiB in float32
    images.requires_grad_()
    weight = torch.randn(8, 8, 3, 3, device="npu").bfloat16().requires_grad_()
    bias = torch.randn(8, device="npu").bfloat16().requires_grad_()
    result = functional.conv2d(images, weight, bias, padding=1)
    gradients = torch.autograd.grad(result, (images, weight, bias), torch.ones_like(result))
    single = [t.detach().float().requires_grad_() for t in (images, weight, bias)]
    wanted = functional.conv2d(*single, padding=1)
    wanted_gradients = torch.autograd.grad(wanted, single, torch.ones_like(wanted))
    for ours, exact in zip((result, *gradients), (wanted, *wanted_gradients), strict=True):
        largest = exact.abs().max().item()
        assert (ours.float() - exact).abs().max().item() <= largest * 2**-8


SETTING = """
import torch, torch_npu
torch.manual_seed(0)
a = torch.randn(64, 256).bfloat16()
print(torch.equal((a.npu() @ a.npu().T).cpu(), a @ a.T))
"""


def test_the_setting_native_gives_the_native_kernels_numbers(run_python):
    native = run_python(SETTING, SOFTCANN_HALF_PRECISION="native")
    assert native.stdout.strip() == "True", native.stderr
    other = run_python(SETTING, SOFTCANN_HALF_PRECISION="float32")
    assert other.stdout.strip() in ("True", "False"), other.stderr


def test_nonsense_in_the_setting_is_an_error_that_names_it(run_python):
    wrong = run_python(SETTING, SOFTCANN_HALF_PRECISION="half")
    assert wrong.returncode != 0
    assert 'SOFTCANN_HALF_PRECISION="half"' in wrong.stderr
