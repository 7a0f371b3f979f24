"""Ascend's own operators as functions of the package, and what is said of absent ones."""

from __future__ import annotations

import pytest
import torch

import torch_npu


def test_operator_is_the_one_of_its_namespace() -> None:
    assert torch_npu.npu_rms_norm is torch.ops.npu.npu_rms_norm
    assert torch_npu._npu_paged_attention is torch.ops.atb._npu_paged_attention


def test_outputs_may_be_given_together() -> None:
    x = torch.randn(1, 2, 3, 4, device="npu")
    out, lse = torch.empty_like(x), torch.empty(1, device="npu")
    form = torch_npu.npu_fused_infer_attention_score.out
    form(x, x, x, num_heads=2, input_layout="BNSD", out=[out, lse])
    named = torch.empty_like(x)
    form(x, x, x, num_heads=2, input_layout="BNSD", attention_out=named, softmax_lse=lse)
    assert torch.equal(out.cpu(), named.cpu())
    with pytest.raises(TypeError, match="expected 2 tensors as out"):
        form(x, x, x, num_heads=2, input_layout="BNSD", out=[out])
    for wrong in (3, "ab", {"a": out, "b": lse}):
        with pytest.raises(TypeError, match=r"as out .*, but got (int|str|dict)"):
            form(x, x, x, num_heads=2, input_layout="BNSD", out=wrong)
    with pytest.raises(RuntimeError, match="argument 'attention_out'"):
        form(x, x, x, num_heads=2, input_layout="BNSD", out=[1, 2])


def test_dynamo_traces_the_form_with_outputs() -> None:
    x = torch.randn(1, 2, 3, 4, device="npu")
    out, lse = torch.empty_like(x), torch.empty(1, device="npu")

    def written(x: torch.Tensor, out: torch.Tensor, lse: torch.Tensor) -> torch.Tensor:
        form = torch_npu.npu_fused_infer_attention_score.out
        form(x, x, x, num_heads=2, input_layout="BNSD", out=[out, lse])
        return out

    expected = written(x, torch.empty_like(x), lse)
    torch.compile(written, backend="eager", fullgraph=True)(x, out, lse)
    assert torch.equal(out.cpu(), expected.cpu())


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("npu_mm_all_reduce_base", "torch.distributed"),
        ("npu_mla_prolog_v3", "npu_fusion_attention"),
        ("npu_swiglu_quant", "npu_swiglu"),
        ("_lstm_npu", "torch.nn.LSTM"),
        ("stft_backward", "automatic derivative"),
        ("npu_stride_add", "PyTorch's own operators"),
    ],
)
def test_absent_operator_is_named_with_what_to_use(name: str, instead: str) -> None:
    assert not hasattr(torch_npu, name)
    with pytest.raises(AttributeError, match=f"no operator 'npu::{name}'. Use .*{instead}"):
        getattr(torch_npu, name)


def test_name_of_no_operator_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'no_such_name'$"):
        torch_npu.no_such_name  # noqa: B018
