"""What a row of the operator table may say, and what its reader refuses."""

import pathlib
import textwrap

import pytest

from operators import schema


def rows(tmp_path: pathlib.Path, text: str) -> list[schema.Row]:
    (tmp_path / "family.yaml").write_text(textwrap.dedent(text))
    return schema.load(tmp_path)


def test_a_row_gives_the_function_its_parameters_and_their_c_types(tmp_path):
    (row,) = rows(
        tmp_path,
        """
        - aclnn: Foo(Tensor self, Tensor? weight, int[] dims, bool[] mask, Tensor! out)
          kernel: out.copy_(self)
        """,
    )
    assert row.function == "aclnnFoo"
    assert [p.c_type for p in row.parameters] == [
        "const aclTensor*",
        "const aclTensor*",
        "const aclIntArray*",
        "const aclBoolArray*",
        "aclTensor*",
    ]
    assert [p.name for p in row.outputs] == ["out"]


def test_a_written_parameter_may_be_const_in_the_header(tmp_path):
    (row,) = rows(tmp_path, "- {aclnn: 'Foo(const Tensor! self)', kernel: self.zero_()}")
    assert row.parameters[0].c_type == "const aclTensor*"
    assert row.parameters[0].written


def test_a_function_that_cann_lacks_has_the_prefix_softcann(tmp_path):
    (row,) = rows(tmp_path, "- {softcann: 'Foo(Tensor! self)', kernel: self.zero_()}")
    assert row.function == "softcannFoo"


def test_an_aten_function_by_its_bare_name_stands_for_the_whole_row(tmp_path):
    (row,) = rows(tmp_path, "- {softcann: linalg_eig, check: pointers}")
    assert row.function == "softcannLinalgEig"
    assert [p.name for p in row.parameters] == ["self", "eigenvalues", "eigenvectors"]
    assert row.kernel == "at::linalg_eig_out(eigenvalues, eigenvectors, self)"
    assert row.check == "pointers"
    assert [entry.op for entry in row.aten] == ["linalg_eig"]


def test_missing_numbers_of_a_derived_row_are_null_scalars(tmp_path):
    (row,) = rows(tmp_path, "- softcann: _cdist_forward")
    assert [(p.type, p.c_type) for p in row.parameters] == [
        ("Tensor", "const aclTensor*"),
        ("Tensor", "const aclTensor*"),
        ("double", "double"),
        ("int?", "const aclScalar*"),
        ("Tensor!", "aclTensor*"),
    ]


def test_a_derived_row_without_an_out_form_copies_the_results(tmp_path):
    (row,) = rows(tmp_path, "- softcann: _prelu_kernel_backward")
    assert row.kernel == (
        "const auto results = at::_prelu_kernel_backward(grad_output, self, weight);"
        " out0.copy_(std::get<0>(results)); out1.copy_(std::get<1>(results))"
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{aclnn: 'Foo(Tensr self)'}", "'Tensr self'"),
        ("{aclnn: 'Foo Tensor self'}", "expected Name"),
        ("{aclnn: 'Foo(Tensor self)', kernl: x}", "kernl"),
        ("{aclnn: 'Foo(Tensor self)', softcann: 'Foo(Tensor self)'}", "one of"),
        ("{aclnn: 'Foo(Tensor self)', check: never}", "never"),
        ("{aclnn: 'Foo(Tensor self)', half: bfloat16}", "half is one of"),
        ("{aclnn: 'Foo(Tensor self, dtype dtype)', half: alone}", "told a dtype"),
        ("{aclnn: 'Foo(Tensor self)', aten: [{op: abs, args: {other: x}}]}", "'other'"),
        ("{aclnn: 'Foo(Tensor self)', aten: [{args: {self: x}}]}", "'op'"),
        ("{aclnn: 'Foo(Tensor self)', aten: [{op: abs, variants: [inward]}]}", "inward"),
        ("{softcann: no_such_operator}", "ATen has no 'no_such_operator'"),
        ("{softcann: histogram.bin_ct}", "float[]? range"),
        ("{softcann: relu_}", "does not return new tensors"),
    ],
)
def test_a_malformed_row_is_refused_with_its_place_and_reason(tmp_path, row, reason):
    with pytest.raises(schema.TableError, match=r"table/family\.yaml") as error:
        rows(tmp_path, f"- {row}")
    assert reason in str(error.value)


def test_a_function_may_stand_in_the_table_once(tmp_path):
    with pytest.raises(schema.TableError, match="aclnnFoo stands in family"):
        rows(
            tmp_path,
            """
            - {aclnn: 'Foo(Tensor! self)', kernel: self.zero_()}
            - {aclnn: 'Foo(Tensor! self)', kernel: self.zero_()}
            """,
        )
