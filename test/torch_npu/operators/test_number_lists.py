"""Numbers of SymInt[]: in lists, in tensors, among tensors, and as symbols of torch.compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils import _pytree

import torch_npu

HEADS, SIZE = 4, 64
Numbers = Any
# Of a first size and one number or two; the numbers decide the values.
Operator = Callable[[torch.Tensor, Numbers], Any]


def packed(tokens: int) -> torch.Tensor:
    torch.manual_seed(tokens)
    return torch.randn(tokens, HEADS, SIZE, dtype=torch.float16).npu()


def options(lengths: Numbers) -> dict[str, Any]:
    """Of packed queries, for the first version of inference attention."""
    return {
        "num_heads": HEADS,
        "input_layout": "TND",
        "scale": 0.1,
        "actual_seq_lengths": lengths,
        "actual_seq_lengths_kv": lengths,
    }


def options_v2(lengths: Numbers) -> dict[str, Any]:
    return {
        "num_query_heads": HEADS,
        "input_layout": "TND",
        "softmax_scale": 0.1,
        "actual_seq_qlen": lengths,
        "actual_seq_kvlen": lengths,
    }


def infer(query: torch.Tensor, lengths: Numbers) -> Any:
    return torch_npu.npu_fused_infer_attention_score(
        query, query, query, **options(lengths), softmax_lse_flag=True
    )


def infer_out(query: torch.Tensor, lengths: Numbers) -> Any:
    out, lse = torch.empty_like(query), torch.empty(1, device="npu")
    torch_npu.npu_fused_infer_attention_score.out(
        query, query, query, **options(lengths), out=[out, lse]
    )
    return out


def infer_v2(query: torch.Tensor, lengths: Numbers) -> Any:
    return torch_npu.npu_fused_infer_attention_score_v2(query, query, query, **options_v2(lengths))


def infer_v2_out(query: torch.Tensor, lengths: Numbers) -> Any:
    out, lse = torch.empty_like(query), torch.empty(1, device="npu")
    torch_npu.npu_fused_infer_attention_score_v2.out(
        query, query, query, **options_v2(lengths), out=[out, lse]
    )
    return out


def workspace(query: torch.Tensor, lengths: Numbers) -> Any:
    return torch_npu._npu_fused_infer_attention_score_get_max_workspace(
        query, query, query, num_heads=HEADS, input_layout="TND", actual_seq_lengths=lengths
    )


def workspace_v2(query: torch.Tensor, lengths: Numbers) -> Any:
    return torch_npu._npu_fused_infer_attention_score_v2_get_max_workspace(
        query, query, query, num_query_heads=HEADS, input_layout="TND", actual_seq_qlen=lengths
    )


def incremental(keys: torch.Tensor, lengths: Numbers) -> Any:
    """The length says how many keys the one query sees."""
    rows = keys.unsqueeze(0)
    return torch_npu.npu_incre_flash_attention(
        rows[:, :1],
        rows,
        rows,
        num_heads=HEADS,
        scale_value=0.01,
        input_layout="BSND",
        actual_seq_lengths=lengths,
    )


def prefixed(x: torch.Tensor) -> dict[str, Any]:
    """Attention to what came before, and to the first keys, as many as the prefix says."""
    hidden = torch.ones(2048, 2048, dtype=torch.bool, device=x.device).triu(1)
    return {"sparse_mode": 6, "atten_mask": hidden}


def fusion(x: torch.Tensor, prefix: Numbers) -> Any:
    rows = x.transpose(0, 1).unsqueeze(0)
    return torch_npu.npu_fusion_attention_v3(
        rows, rows, rows, HEADS, "BNSD", scale=0.1, prefix=prefix, **prefixed(x)
    )[:3]


def fusion_grad(x: torch.Tensor, prefix: Numbers) -> Any:
    rows = x.transpose(0, 1).unsqueeze(0)
    hidden = prefixed(x)
    out, maximum, total, *_ = torch_npu.npu_fusion_attention_v3(
        rows, rows, rows, HEADS, "BNSD", scale=0.1, prefix=prefix, **hidden
    )
    return torch_npu.npu_fusion_attention_grad_v3(
        rows,
        rows,
        rows,
        rows,
        HEADS,
        "BNSD",
        scale_value=0.1,
        softmax_max=maximum,
        softmax_sum=total,
        attention_in=out,
        prefix=prefix,
        **hidden,
    )[:3]


def transposed_back(x: torch.Tensor, shape: Numbers) -> Any:
    return torch_npu.npu_confusion_transpose_backward(x.flatten(1), [1, 0], shape, True)


# What each is called with, given x, and what would be another result.
CASES: dict[str, tuple[Operator, Callable[[torch.Tensor], list[Any]], list[int]]] = {
    "npu_fused_infer_attention_score": (infer, lambda x: [2, x.shape[0]], [3, 6]),
    "npu_fused_infer_attention_score.out": (infer_out, lambda x: [2, x.shape[0]], [3, 6]),
    "npu_fused_infer_attention_score_v2": (infer_v2, lambda x: [2, x.shape[0]], [3, 6]),
    "npu_fused_infer_attention_score_v2.out": (infer_v2_out, lambda x: [2, x.shape[0]], [3, 6]),
    "_npu_fused_infer_attention_score_get_max_workspace": (
        workspace,
        lambda x: [2, x.shape[0]],
        [],
    ),
    "_npu_fused_infer_attention_score_v2_get_max_workspace": (
        workspace_v2,
        lambda x: [2, x.shape[0]],
        [],
    ),
    "npu_incre_flash_attention": (incremental, lambda x: [x.shape[0] - 1], [2]),
    "npu_fusion_attention_v3": (fusion, lambda x: [x.shape[0] - 2], [0]),
    "npu_fusion_attention_grad_v3": (fusion_grad, lambda x: [x.shape[0] - 2], [0]),
    "npu_confusion_transpose_backward": (
        transposed_back,
        lambda x: [HEADS * SIZE // 2, x.shape[0] * 2],
        [HEADS * SIZE, 6],
    ),
}
FORMS: dict[str, Callable[[list[int]], Numbers]] = {
    "a tuple": tuple,
    "numpy": numpy.array,
    "tensors": lambda numbers: [torch.tensor(n) for n in numbers],
    "tensors of one element": lambda numbers: [torch.tensor([n]) for n in numbers],
    "tensors on npu": lambda numbers: [torch.tensor(n, device="npu") for n in numbers],
    "a tensor among numbers": lambda numbers: [*numbers[:-1], torch.tensor(numbers[-1])],
    "int32": lambda numbers: torch.tensor(numbers, dtype=torch.int32),
    "int64": lambda numbers: torch.tensor(numbers),
    "int32 on npu": lambda numbers: torch.tensor(numbers, dtype=torch.int32, device="npu"),
    "int64 on npu": lambda numbers: torch.tensor(numbers, device="npu"),
}


def tensors(results: Any) -> list[torch.Tensor]:
    return [leaf for leaf in _pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor)]


def same(first: Any, second: Any) -> bool:
    pairs = list(zip(tensors(first), tensors(second), strict=True))
    return bool(pairs) and all(
        a.shape == b.shape and torch.equal(a.cpu(), b.cpu()) for a, b in pairs
    )


def test_every_operator_with_such_numbers_is_here() -> None:
    found = set()
    for qualified in torch._C._dispatch_get_all_op_names():
        space, _, name = qualified.partition("::")
        if space in ("npu", "atb"):
            schema = torch._C._get_schema(*qualified.partition(".")[::2])
            if any("SymInt" in a.real_type.str() for a in schema.arguments):
                found.add(name)
    assert found == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_numbers_may_come_in_tensors(name: str) -> None:
    operator, numbers_of, other = CASES[name]
    x = packed(6)
    numbers = numbers_of(x)
    expected = operator(x, numbers)
    assert not other or not same(expected, operator(x, other))
    for form, make in FORMS.items():
        assert same(operator(x, make(numbers)), expected), form


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", CASES)
def test_one_graph_serves_all_sizes(name: str, backend: str) -> None:
    if name.endswith(".out") and backend == "aot_eager":
        pytest.skip("PyTorch functionalises no operator that returns what it writes")
    operator, numbers_of, _ = CASES[name]
    counter = CompileCounterWithBackend(backend)
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda x: operator(x, numbers_of(x)), backend=counter, dynamic=True, fullgraph=True
    )
    for tokens in (6, 7, 9, 13):
        x = packed(tokens)
        assert same(compiled(x), operator(x, numbers_of(x))), tokens
    assert counter.frame_count == 1


def test_one_graph_trains_on_all_sizes() -> None:
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")

    def loss(x: torch.Tensor) -> torch.Tensor:
        return fusion(x, [x.shape[0] - 2])[0].float().square().sum()

    compiled = torch.compile(loss, backend=counter, dynamic=True, fullgraph=True)
    for tokens in (6, 7, 9):
        first, second = (packed(tokens).requires_grad_() for _ in range(2))
        compiled(first).backward()
        loss(second).backward()
        assert same(first.grad, second.grad)
    assert counter.frame_count == 1


def test_script_knows_operators_with_such_numbers() -> None:
    def scripted(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.npu.npu_confusion_transpose_backward(x, [1, 0], [3, 2], True)

    x = torch.arange(6.0, device="npu").view(2, 3)
    assert torch.equal(torch.jit.script(scripted)(x), x.t().reshape(3, 2))


def test_meta_tensors_take_numbers_in_tensors() -> None:
    x = torch.empty(6, HEADS, SIZE, dtype=torch.float16, device="meta")
    assert infer(x, torch.tensor([2, 6]))[0].shape == x.shape
