"""`torch.compile` says which of its backends work on `npu`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch._inductor.codegen import common
from torch._inductor.codegen.wrapper import PythonWrapperCodegen
from torch._inductor.exc import InductorError


@pytest.fixture(autouse=True)
def forget_compiled_code() -> Iterator[None]:
    yield
    torch._dynamo.reset()


def test_inductor_refuses_and_names_what_works() -> None:
    compiled = torch.compile(lambda x: x.sin() + 1)
    with pytest.raises(InductorError, match=r"NotImplementedError.*npu.*backend='aot_eager'"):
        compiled(torch.ones(3, device="npu"))


def test_inductor_keeps_its_generators_for_the_cpu() -> None:
    common.init_backend_registration()
    assert common.get_scheduling_for_device("cpu") is not None
    assert common.get_wrapper_codegen_for_device("cpu") is PythonWrapperCodegen


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backends_without_code_of_their_own_work(backend: str) -> None:
    x = torch.randn(3, device="npu", requires_grad=True)
    result = torch.compile(lambda x: (x.sin() * x).sum(), backend=backend)(x)
    result.backward()
    torch.testing.assert_close(x.grad, (x.sin() + x * x.cos()).detach())
