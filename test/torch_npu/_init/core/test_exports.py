"""The names of the package itself."""

from __future__ import annotations

import pytest
import torch

import torch_npu


def test_star_import_gives_what_the_module_lists() -> None:
    names: dict[str, object] = {}
    exec("from torch_npu import *", names)
    assert set(torch_npu.__all__) <= set(names)


def test_what_transformers_imports_is_there() -> None:
    # It does so wherever it finds torch_npu, whether a model calls the operator or not.
    from torch_npu import npu_fusion_attention

    query = torch.randn(1, 2, 4, 8, device="npu")
    attended = npu_fusion_attention(query, query, query, 2, "BNSD", scale=8**-0.5)[0]
    expected = torch.nn.functional.scaled_dot_product_attention(query, query, query)
    torch.testing.assert_close(attended, expected)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'does_not_exist'"):
        getattr(torch_npu, "does_not_exist")  # noqa: B009
