"""Strict mode as a PyTorch program sees it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

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
