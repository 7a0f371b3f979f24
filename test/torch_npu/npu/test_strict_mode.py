"""Strict mode as a PyTorch program sees it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F

import torch_npu

config = torch.npu.config


@pytest.fixture
def strict() -> Iterator[None]:
    config.strict = True
    yield
    config.strict = False


def test_strict_mode_is_off_at_first_and_is_read_back(run_python) -> None:
    code = """
import torch, torch_npu
print(torch.npu.config.strict)
torch.npu.config.strict = True
print(torch.npu.config.strict)
"""
    assert run_python(code).stdout.split() == ["False", "True"]
    assert run_python(code, SOFTCANN_STRICT="1").stdout.split() == ["True", "True"]


def test_a_nonsensical_setting_is_named(run_python) -> None:
    code = "import torch, torch_npu; torch.ones(2, device='npu')"
    assert 'SOFTCANN_STRICT="yes" is not valid' in run_python(code, SOFTCANN_STRICT="yes").stderr


def test_only_a_bool_is_taken() -> None:
    with pytest.raises(TypeError, match="strict must be a bool"):
        config.strict = 1
    assert config.strict is False


def test_what_the_card_refuses_is_an_error_at_the_call(strict) -> None:
    x = torch.ones(2, 2, device="npu", dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"aclnnMm: self is float64; .*161002") as error:
        x @ x
    assert "(strict mode)" in str(error.value)
    config.strict = False
    assert (x @ x).tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: torch.nn.functional.silu(x.double()), "aclnnSilu: self is float64"),
        (lambda x: x.double().max(dim=0), "aclnnMaxDim: self is float64"),
        (lambda x: torch.cat([x.cfloat().to(torch.complex128)] * 2), "aclnnCat: tensors is"),
        (lambda x: torch.full((1,) * 9, 2.0, device="npu") + 1, "9 dimensions"),
        (lambda x: torch.nn.functional.conv2d(x.view(1, 1, 4, 4), x.view(1, 1, 4, 4), padding=300),
         "561103"),
    ],
)  # fmt: skip
def test_limits_reach_the_operators_of_pytorch(call, text, strict) -> None:
    x = torch.ones(4, 4, device="npu")
    with pytest.raises(RuntimeError) as error:
        call(x)
    assert text in str(error.value)


def test_a_refused_call_leaves_its_output_alone(strict) -> None:
    out = torch.zeros(2, device="npu", dtype=torch.float64)
    with pytest.raises(RuntimeError, match="strict mode"):
        torch.tanh(torch.ones(2, device="npu", dtype=torch.float64), out=out)
    assert out.tolist() == [0, 0]


class Model(torch.nn.Module):
    """Convolution, normalisation, attention, embedding and recurrence in one."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(10, 16)
        self.encode = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.convolve = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU()
        )
        self.pool = torch.nn.MaxPool2d(2)
        self.norm = torch.nn.GroupNorm(2, 4)
        self.head = torch.nn.Linear(4 * 4 * 8, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = torch.nn.functional.gelu(self.encode(self.embed(tokens)))
        return self.head(self.norm(self.pool(self.convolve(x.unsqueeze(1)))).flatten(1))


@pytest.mark.parametrize("autocast", [False, True])
def test_a_model_of_the_card_trains_in_strict_mode(autocast, strict) -> None:
    torch.manual_seed(0)
    model = Model().npu()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens = torch.randint(0, 10, (16, 8), device="npu")
    target = torch.randint(0, 10, (16,), device="npu")
    losses = []
    for _ in range(5):
        with torch.autocast("npu", torch.bfloat16, enabled=autocast):
            loss = torch.nn.functional.cross_entropy(model(tokens), target)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def in_nz(*sizes: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch_npu.npu_format_cast(torch.randn(*sizes, device="npu").to(dtype), 29)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: F.linear(x, in_nz(1, 128)), "aclnnMatmulWeightNz: size -1 of mat2 is 1"),
        (lambda x: F.linear(x[:, :1], in_nz(64, 1)), "aclnnMatmulWeightNz: size -2 of mat2 is 1"),
        (lambda x: F.linear(x, in_nz(1, 128), x[0, :1]), "aclnnAddmmWeightNz: size -1 of mat2"),
        (lambda x: F.linear(x[None], in_nz(1, 128)), "aclnnMatmulWeightNz: size -1"),
        (lambda x: x @ in_nz(128, 1), "aclnnMatmulWeightNz: size -1 of mat2 is 1"),
        (lambda x: x.expand(2, 4, 128) @ in_nz(2, 128, 1), "aclnnBatchMatMulWeightNz: size -1"),
        (lambda x: x @ in_nz(128, 64, dtype=torch.float16), "aclnnMatmulWeightNz: mat2 is float16"),
        (
            lambda x: torch_npu.npu_quant_matmul(
                x.char(), in_nz(128, 1, dtype=torch.int8), torch.ones(1, device="npu"),
                output_dtype=torch.bfloat16,
            ),
            "aclnnQuantMatmulWeightNz: size -1 of x2 is 1",
        ),
    ],
)  # fmt: skip
def test_weights_in_fractal_nz_have_limits_of_their_own(call, text, strict) -> None:
    x = torch.randn(4, 128, device="npu", dtype=torch.bfloat16)
    with pytest.raises(RuntimeError, match="strict mode") as error:
        call(x)
    assert text in str(error.value)


def test_products_with_weights_in_fractal_nz_are_those_with_plain_weights(strict) -> None:
    x = torch.randn(4, 128, device="npu", dtype=torch.float16)
    weight = torch.randn(64, 128, device="npu", dtype=torch.float16, requires_grad=True)
    bias = torch.randn(64, device="npu", dtype=torch.float16)
    cast = torch_npu.npu_format_cast(weight, 29)
    torch.testing.assert_close(F.linear(x, cast), F.linear(x, weight))
    torch.testing.assert_close(F.linear(x, cast, bias), F.linear(x, weight, bias))
    stacked = torch_npu.npu_format_cast(weight.detach().t().expand(2, 128, 64), 29)
    torch.testing.assert_close(x.expand(2, 4, 128) @ stacked, (x @ weight.t()).expand(2, 4, 64))
    F.linear(x, cast).sum().backward()
    torch.testing.assert_close(weight.grad, x.sum(0).expand(64, 128))
    out = torch.empty(4, 64, device="npu", dtype=torch.float16)
    torch.testing.assert_close(torch.mm(x, cast.detach().t(), out=out), F.linear(x, weight))


@pytest.mark.parametrize(("sizes", "repeats"), [((5, 4), 2), ((5,), 3)])
def test_repeated_elements_have_a_dtype_of_the_card(sizes, repeats, strict) -> None:
    x = torch.ones(sizes, device="npu")
    assert x.repeat_interleave(repeats, dim=0).shape[0] == 5 * repeats
    with pytest.raises(RuntimeError, match=r"aclnnRepeatInterleave.*: self is float64"):
        x.double().repeat_interleave(repeats, dim=0)


@pytest.mark.parametrize(
    ("layout", "sizes", "text"),
    [
        ("BNSD", (2, 2, 4, 24), "the head size is 24; it must be a multiple of 16"),
        ("BNSD", (2, 2, 4, 528), "the head size is 528; allowed is up to 512"),
        ("BSND", (2, 4, 2, 16), None),
        ("SBH", (4, 2, 32), 'inputLayout is "SBH"; allowed are BSH'),
    ],
)
def test_layout_and_head_size_of_attention(layout, sizes, text, strict) -> None:
    x = torch.randn(sizes, device="npu", dtype=torch.float16)

    def attend() -> tuple[torch.Tensor, torch.Tensor]:
        return torch_npu.npu_fused_infer_attention_score(
            x, x, x, num_heads=2, num_key_value_heads=2, input_layout=layout
        )

    if text is None:
        assert attend()[0].shape == sizes
        return
    with pytest.raises((RuntimeError, ValueError)) as error:
        attend()
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: torch.inverse(x), "aclnnInverse: self is float64"),
        (lambda x: torch.linalg.cholesky(x), "aclnnLinalgCholesky: self is float64"),
        (lambda x: F.kl_div(x, x), "aclnnKlDiv: self is float64"),
        (lambda x: F.l1_loss(x, x), "aclnnL1Loss: self is float64"),
        (lambda x: F.pdist(x), "aclnnPdist: self is float64"),
        (lambda x: torch.isclose(x.cfloat(), x.cfloat()), "aclnnIsClose: self is complex64"),
        (lambda x: x.repeat_interleave(2), "aclnnRepeatInterleaveInt: self is float64"),
        (
            lambda x: x.repeat_interleave(torch.tensor([1, 2], device="npu"), dim=0),
            "aclnnRepeatInterleaveWithDim: self is float64",
        ),
        (
            lambda x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None]),
            "softcannScaledDotProductAttention: query is float64",
        ),
    ],
)
def test_what_pytorch_composes_has_the_limits_of_the_cards_function(call, text, strict) -> None:
    x = torch.eye(2, dtype=torch.float64).npu()
    with pytest.raises(RuntimeError, match="strict mode") as error:
        call(x)
    assert text in str(error.value)


def test_what_pytorch_composes_keeps_its_results_and_derivatives(strict) -> None:
    x = torch.rand(3, 2, device="npu", requires_grad=True)
    repeats = torch.tensor([2, 0, 1], device="npu")
    y = x.repeat_interleave(2, dim=1).repeat_interleave(repeats, dim=0)
    assert y.tolist() == x.detach().cpu()[[0, 0, 2]][:, [0, 0, 1, 1]].tolist()
    y.sum().backward()
    assert x.grad.tolist() == [[4, 4], [0, 0], [2, 2]]
    _, tangent = torch.func.jvp(
        lambda v: v.repeat_interleave(2), (x.detach(),), (torch.ones_like(x),)
    )
    assert tangent.tolist() == [1] * 12
    assert torch.vmap(lambda v: v.repeat_interleave(2))(x.detach()).shape == (3, 4)
    assert torch.allclose(torch.inverse(torch.eye(2, device="npu")), torch.eye(2, device="npu"))
