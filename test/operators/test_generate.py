"""How a row is turned into both sides of the ABI."""

import pathlib
import textwrap

import pytest

from operators import generate, schema


def make(tmp_path: pathlib.Path, text: str) -> pathlib.Path:
    table = tmp_path / "table"
    table.mkdir(exist_ok=True)
    (table / "family.yaml").write_text(textwrap.dedent(text))
    output = tmp_path / "output"
    generate.generate(output, table)
    return output


def backend(output: pathlib.Path) -> str:
    return (output / "torch_npu" / "family.cpp").read_text()


def test_a_structured_operator_is_registered_in_all_its_forms(tmp_path):
    text = backend(
        make(
            tmp_path,
            """
            - aclnn: Add(Tensor self, Tensor other, Scalar alpha, Tensor! out)
              aten: [add.Tensor]
            """,
        )
    )
    for name in ("add.Tensor", "add_.Tensor", "add.out"):
        assert f'm.impl("{name}"' in text
    assert "launchChecked(aclnnAdd, self, other, alpha, op.output(0))" in text


def test_the_default_kernel_is_the_out_form_of_the_aten_operator(tmp_path):
    output = make(
        tmp_path,
        """
        - aclnn: Add(Tensor self, Tensor other, Scalar alpha, Tensor! out)
          aten: [add.Tensor]
        """,
    )
    text = (output / "softcann" / "family.cpp").read_text()
    assert "at::add_out(out, self, other, alpha);" in text
    assert "#include <ATen/ops/add.h>" in text


def test_phase_one_does_not_try_a_kernel_that_follows_numbers_in_its_arguments(tmp_path):
    output = make(tmp_path, "- {softcann: linalg_lu_solve, check: untried}")
    text = (output / "softcann" / "family.cpp").read_text()
    assert '"softcannLinalgLuSolve", Check::kUntried)' in text


def test_an_out_form_asks_the_cpus_about_outputs_of_other_dtypes(tmp_path):
    text = backend(
        make(
            tmp_path,
            """
            - aclnn: Histc(Tensor self, int bins, Scalar min, Scalar max, Tensor! out)
              aten: [histc]
            """,
        )
    )
    assert "if (haveOtherTypes(out, inferred))" in text
    assert "at::histc_out(ask.output(out), ask(self), bins, min, max);" in text


def test_shapes_of_a_foreach_row_are_left_to_the_backend(tmp_path):
    output = make(
        tmp_path,
        """
        - aclnn: ForeachSin(Tensor[] x, Tensor[]! out)
          foreach: _foreach_sin
          outputs: floatEach(self)
        """,
    )
    text = (output / "softcann" / "family.cpp").read_text()
    assert 'makeOperator("aclnnForeachSin", Check::kPointers)' in text


def test_a_python_number_takes_the_scalar_function(tmp_path):
    text = backend(
        make(
            tmp_path,
            """
            - aclnn: Mul(Tensor self, Tensor other, Tensor! out)
              aten: [{op: mul.Tensor, host_scalar: {other: Muls}}]
            - aclnn: Muls(Tensor self, Scalar other, Tensor! out)
              kernel: at::mul_out(out, self, wrapped(other))
            """,
        )
    )
    assert "launchChecked(aclnnMuls, self, hostScalar(other), op.output(0))" in text


def test_a_matrix_in_fractal_nz_takes_the_function_for_it(tmp_path):
    text = backend(
        make(
            tmp_path,
            """
            - aclnn: Mm(Tensor self, Tensor mat2, Tensor! out)
              aten: [{op: mm, nz: {mat2: MatmulWeightNz}}]
            - aclnn: MatmulWeightNz(Tensor self, Tensor mat2, Tensor! out)
              kernel: at::mm_out(out, self, mat2)
            """,
        )
    )
    assert "if (isNz(mat2)) {\n    launchChecked(aclnnMatmulWeightNz, self, mat2," in text
    assert '#include "torch_npu/csrc/aten/formats.h"' in text


@pytest.mark.parametrize("key", ["host_scalar", "nz"])
def test_a_function_that_is_called_instead_needs_a_row(tmp_path, key):
    with pytest.raises(schema.TableError, match="names Absent, which has no row"):
        make(
            tmp_path,
            f"""
            - aclnn: Mul(Tensor self, Tensor other, Tensor! out)
              aten: [{{op: mul.Tensor, {key}: {{other: Absent}}}}]
            """,
        )


def test_an_in_place_function_whose_first_parameter_is_written_gets_self_there(tmp_path):
    text = backend(
        make(
            tmp_path,
            """
            - aclnn: InplaceFillScalar(Tensor! selfRef, Scalar value)
              kernel: selfRef.fill_(value)
              aten: [fill_.Scalar]
            """,
        )
    )
    assert "launch(aclnnInplaceFillScalar, self, value);\n  return self;" in text


def test_random_operators_pass_seed_and_offset_of_their_generator(tmp_path):
    text = backend(
        make(
            tmp_path,
            """
            - aclnn: InplaceUniform(Tensor! selfRef, double from, double to, int seed, int offset)
              kernel: selfRef.uniform_(from, to)
              aten: [{op: uniform_, random: self.numel()}]
            """,
        )
    )
    assert "drawRandom(generatorFor(generator, self.device()), self.numel())" in text
    assert "random.seed, random.offset" in text


def test_outputs_that_no_row_describes_are_inferred_by_the_operators_meta_function(tmp_path):
    text = backend(make(tmp_path, "- softcann: _cdist_forward"))
    assert "return at::_cdist_forward(infer(x1), infer(x2), p, compute_mode);" in text
    assert "auto out = inference.output(inferred);" in text


def test_the_check_of_an_out_argument_comes_first_and_in_the_out_form_alone(tmp_path):
    text = backend(
        make(
            tmp_path,
            """
            - softcann: _cdist_forward
              before_out: checkApart(out, {&x1})
            """,
        )
    )
    begin = "at::Tensor & out) {\n  checkApart(out, {&x1});"
    assert text.count("checkApart") == text.count(begin) <= 1
    addbmm = backend(make(tmp_path, "- {softcann: addbmm, before_out: check(out)}"))
    assert addbmm.count("at::Tensor & out) {\n  check(out);") == addbmm.count("check(out)") == 1


def test_the_forms_that_aten_does_not_compose_are_registered_with_the_functional_one(tmp_path):
    text = backend(make(tmp_path, "- softcann: addbmm"))
    assert "inference.checkInplace(self, inferred);" in text
    assert "inference.resize(out, inferred);" in text
    for name in ("addbmm", "addbmm_", "addbmm.out"):
        assert f'm.impl("{name}"' in text
    assert 'm.impl("vdot.out"' not in backend(make(tmp_path, "- softcann: vdot"))


def test_a_form_with_an_entry_of_its_own_is_registered_once(tmp_path):
    text = backend(
        make(
            tmp_path,
            """
            - aclnn: Relu(Tensor self, Tensor! out)
              kernel: at::clamp_min_out(out, self, 0)
              aten:
                - {op: hardswish, outputs: {out: "shapes::like(self)"}}
                - {op: hardswish.out, before: "resizeTo(out, self.sizes())"}
            """,
        )
    )
    assert text.count('m.impl("hardswish.out"') == 1
    assert "resizeTo(out, self.sizes());" in text


def test_the_out_form_of_a_result_of_unknown_size_takes_over_the_functional_ones(tmp_path):
    text = backend(
        make(
            tmp_path,
            """
            - aclnn: NonzeroV2(Tensor self, Tensor!~ out)
              kernel: out.assign(at::nonzero(self).t())
              aten:
                - op: nonzero
                  outputs: {out: "shapes::sized({self.dim(), self.numel()}, self, at::kLong)"}
                  results: {out: shapes::transposed}
            """,
        )
    )
    assert "return shapes::transposed(out.take());" in text
    assert "storeResult(out, nonzero(self));\n  return out;" in text


def test_a_default_places_the_argument_that_it_is_the_default_of(tmp_path):
    text = backend(
        make(
            tmp_path,
            """
            - aclnn: Norm(Tensor self, Scalar pScalar, int[] dim, bool keepdim, Tensor! out)
              kernel: at::norm_out(out, self, pScalar, dim, keepdim)
              aten: [{op: norm.ScalarOpt_dim, args: {pScalar: p.value_or(2)}}]
            """,
        )
    )
    assert "launchChecked(aclnnNorm, self, p.value_or(2), dim, " in text


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{aclnn: 'Foo(Tensor self, Tensor! out)', aten: [no_such_operator]}", "no_such_operator"),
        (
            "{aclnn: 'Foo(Tensor self, int x, Tensor! out)', kernel: x, aten: [abs]}",
            "nothing is left for x",
        ),
        (
            "{aclnn: 'Foo(Tensor self, Tensor! out)', kernel: x, aten: [add.Tensor]}",
            "'other' is not passed",
        ),
        (
            "{aclnn: 'Foo(Tensor self, Tensor! out)', aten: [add.Tensor]}",
            "takes 3 arguments and the row gives 1",
        ),
        ("{aclnn: 'Foo(int self, Tensor! out)', aten: [exp]}", "no rule turns"),
        ("{aclnn: 'Foo(Tensor self, Tensor! out)'}", "needs a kernel"),
        (
            "{aclnn: 'Foo(Tensor self, Tensor! a, Tensor! b)', kernel: x, aten: [abs]}",
            "returns 1 results",
        ),
        (
            "{aclnn: 'Foo(Tensor self, Tensor! a, Tensor!~ b)', kernel: x, aten: [geqrf.a]}",
            "several outputs of unknown size have no out form",
        ),
    ],
)
def test_a_row_that_does_not_fit_its_operator_is_refused(tmp_path, row, reason):
    with pytest.raises(schema.TableError, match=reason):
        make(tmp_path, f"- {row}")


def test_unchanged_output_is_not_touched_and_a_row_that_left_the_table_leaves_no_file(tmp_path):
    table = """
        - aclnn: Abs(Tensor self, Tensor! out)
          kernel: at::abs_out(out, self)
        """
    output = make(tmp_path, table)
    path = output / "softcann" / "family.cpp"
    before = path.stat().st_mtime_ns
    make(tmp_path, table)
    assert path.stat().st_mtime_ns == before
    (tmp_path / "table" / "family.yaml").rename(tmp_path / "table" / "other.yaml")
    generate.generate(output, tmp_path / "table")
    assert not path.exists()
    assert (output / "softcann" / "other.cpp").exists()


def test_a_changed_row_rewrites_its_own_familys_files_and_no_header(tmp_path):
    table = tmp_path / "table"
    table.mkdir()
    for family, name in (("one", "Sin"), ("other", "Cos")):
        (table / f"{family}.yaml").write_text(
            f"- {{aclnn: '{name}(Tensor self, Tensor! out)', aten: [{name.lower()}]}}"
        )
    output = tmp_path / "output"
    generate.generate(output, table)
    before = {path: path.stat().st_mtime_ns for path in output.rglob("*") if path.is_file()}
    (table / "one.yaml").write_text(
        "- {aclnn: 'Sin(Tensor self, Tensor! out)', kernel: out.copy_(self), aten: [cos]}"
    )
    generate.generate(output, table)
    changed = {
        path.relative_to(output) for path in before if path.stat().st_mtime_ns > before[path]
    }
    assert changed == {pathlib.Path("softcann/one.cpp"), pathlib.Path("torch_npu/one.cpp")}


def test_cann_declares_an_operators_variants_in_one_header(tmp_path):
    output = make(
        tmp_path,
        """
        - {aclnn: 'Add(Tensor a, Tensor! out)', kernel: out.copy_(a)}
        - {aclnn: 'Adds(Tensor a, Tensor! out)', kernel: out.copy_(a)}
        - {aclnn: 'InplaceAdd(Tensor! a)', kernel: a.zero_()}
        """,
    )
    (header,) = (output / "softcann" / "include" / "aclnnop").iterdir()
    assert header.name == "aclnn_add.h"


def test_the_table_of_this_repository_is_accepted(tmp_path):
    generate.generate(tmp_path, generate.ROOT / "table")
    assert (tmp_path / "softcann" / "include" / "aclnnop" / "aclnn_add.h").exists()


OWN = """
    - aclnn: Twice(Tensor x, double factor, Tensor! out)
      kernel: out.copy_(x.mul(factor))
      npu:
        - op: npu_twice(Tensor self, float factor=2., Tensor? mask=None, str mode="a") -> Tensor
          refuse: [mask]
          ignore: [mode]
          outputs: {out: shapes::like(self)}
          backward: {self: "npu_twice(grad, factor)"}
"""


def test_an_operator_of_ascend_s_is_defined_with_its_schema(tmp_path):
    text = backend(make(tmp_path, OWN))
    schema_text = 'npu_twice(Tensor self, float factor=2., Tensor? mask=None, str mode=\\"a\\")'
    assert f'm.def("{schema_text} -> Tensor");' in text
    assert "TORCH_LIBRARY_IMPL(npu, PrivateUse1, m)" in text
    assert "TORCH_LIBRARY_IMPL(npu, Meta, m)" in text
    assert "if (!onMeta(self))" in text
    assert 'checkMissing("npu_twice", "mask", mask);' in text
    assert "launch(aclnnTwice, self, static_cast<double>(factor), out);" in text


def test_a_derivative_becomes_positions_and_expressions(tmp_path):
    text = backend(make(tmp_path, OWN))
    assert '.backward = {"npu::npu_twice", ""}' in text
    assert ".targets = {0}" in text
    assert ".inputs = {1}" in text
    assert "return {call.grad(0), call.input(1)};" in text


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("op: 'npu_twice(Tensor self'", "is no schema"),
        (
            "{op: 'npu_twice(Tensor self) -> Tensor', args: {factor: '2.0'},"
            " outputs: {out: x}, backward: {self: 'npu_twice(grad, other)'}}",
            "'other', which is no argument",
        ),
        (
            "{op: 'npu_twice(Tensor self) -> Tensor', args: {factor: '2.0'},"
            " outputs: {out: x}, backward: {self: 'npu_twice(grad1)'}}",
            "'grad1', which is no output",
        ),
        (
            "{op: 'npu_twice(Tensor self) -> Tensor', args: {factor: '2.0'},"
            " outputs: {out: x}, refuse: [mask]}",
            "'mask' is no argument",
        ),
        ("{op: 'npu_twice(Tensor self) -> Tensor', host_scalar: {}}", "unknown key"),
    ],
)
def test_an_own_operator_that_does_not_fit_is_refused(tmp_path, entry, reason):
    row = f"""
    - aclnn: Twice(Tensor x, double factor, Tensor! out)
      kernel: out.copy_(x.mul(factor))
      npu:
        - {entry}
    """
    with pytest.raises(schema.TableError, match=reason):
        make(tmp_path, row)


def test_outputs_are_inferred_only_where_pytorch_has_a_meta_function():
    torch = pytest.importorskip("torch")
    rows = schema.load(generate.ROOT / "table")
    by_function = {row.function: row for row in rows}
    listed = generate.listed_operators(rows)
    without = []
    for row in rows:
        for entry in generate.registrations(row, by_function, listed):
            if entry["inferred"] is None:
                continue
            form = entry["function"].functional_form
            has_meta = torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{form.name}", "Meta")
            if not has_meta and not form.composite:
                without.append(form.name)
    assert without == []
