"""PyTorch's database of modules on npu: in training and evaluation, results and gradients as on the
CPU in values, shapes, dtypes and strides, in several memory formats."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Any

import pytest
import torch
from conformance import modules

SHARDS = 6
# A module, a dtype and the reason, as in expected_failures.txt.
EXCEPTIONS = [
    line.split(maxsplit=2)
    for line in Path(__file__).with_name("expected_module_failures.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def excepted(name: str, dtype: torch.dtype) -> bool:
    kind = str(dtype).removeprefix("torch.")
    return any(
        fnmatch.fnmatchcase(name, pattern) and fnmatch.fnmatchcase(kind, dtypes)
        for pattern, dtypes, _ in EXCEPTIONS
    )


def compare(infos: list[Any], limit: int, every_dtype: bool) -> tuple[list[str], int]:
    """What disagrees and is no exception, and how many cases were compared."""
    wrong, compared = [], 0
    for info in infos:
        dtypes = info.supported_dtypes("cpu")
        for dtype in dtypes if every_dtype else [torch.float32]:
            for training in (True, False):
                for case in modules.cases(info, dtype, training, limit):
                    compared += 1
                    reason = modules.disagreement(case)
                    if reason is not None and not excepted(info.name, dtype):
                        wrong.append(f"{case.title}: {reason}")
                    modules.settle()
    return wrong, compared


@pytest.mark.parametrize("shard", range(SHARDS))
def test_modules_agree_with_the_cpu_in_both_modes(shard: int) -> None:
    wrong, compared = compare(modules.DATABASE[shard::SHARDS], limit=4, every_dtype=False)
    assert compared > 100
    assert wrong == []


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_modules_agree_with_the_cpu_for_every_sample_and_dtype(shard: int) -> None:
    wrong, compared = compare(modules.DATABASE[shard::SHARDS], limit=0, every_dtype=True)
    assert compared > 400
    assert wrong == []


def test_a_module_that_computes_something_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    info = next(info for info in modules.DATABASE if info.module_cls is torch.nn.ReLU)
    case = next(modules.cases(info, torch.float32, True, 1))
    assert modules.disagreement(case) is None

    def wrong(x: torch.Tensor) -> torch.Tensor:
        return x.relu() + (x.device.type == "npu")

    monkeypatch.setattr(torch.nn.ReLU, "forward", lambda self, x: wrong(x))
    assert "values" in str(modules.disagreement(case))
    monkeypatch.setattr(
        torch.nn.ReLU,
        "forward",
        lambda self, x: x.relu().mT.contiguous().mT if x.device.type == "npu" else x.relu(),
    )
    case = modules.Case("", case.module, modules.Arguments((torch.ones(2, 3),), {}))
    assert "strides" in str(modules.disagreement(case))


def test_a_loss_of_one_vector_has_no_dimensions() -> None:
    loss = torch.nn.MultiLabelMarginLoss(reduction="none")
    target = torch.tensor([1, 0, -1])
    assert loss(torch.rand(3).to("npu"), target.to("npu")).shape == ()
