"""The column `limits` of the table: how it is read, and the checks that come of it."""

import textwrap

import pytest

from operators import generate, limits, schema

DOCUMENT = "ops-math/math/add/docs/aclnnAdd&aclnnInplaceAdd.md"
KINDS = {"self": "Tensor", "list": "Tensor[]", "n": "int", "mode": "str", "out": "Tensor!"}


def parse(**raw: str) -> limits.Limits:
    return limits.parse({"source": DOCUMENT, **raw}, KINDS)


def test_groups_of_dtypes_are_written_out_once():
    (check,) = parse(self="half float16 bool").checks
    assert check.method == "dtypes"
    assert check.arguments == ("self", "{at::kHalf, at::kBFloat16, at::kBool}")


@pytest.mark.parametrize(
    ("text", "bits", "shown"),
    [("0..8", "0x1ffu", "0 to 8"), ("2", "0x4u", "2"), ("0,3,4", "0x19u", "0, 3, 4")],
)
def test_ranks_are_bits_and_a_text(text, bits, shown):
    _, rank = parse(self=f"float; {text}").checks
    assert rank.arguments == ("self", bits, f'"{shown}"')


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("1..255", ("1", "255")),
        ("3", ("3", "3")),
        ("0..", ("0", "std::numeric_limits<double>::infinity()")),
        ("0<..1", ("std::numeric_limits<double>::denorm_min()", "1")),
    ],
)
def test_a_number_has_a_range(text, arguments):
    assert parse(n=text).checks[0].arguments == ("n", *arguments)


def test_parameters_may_share_a_limit_and_a_string_is_one_of_some_words():
    found = parse(**{"self out": "any"}, mode="none tanh").checks
    assert [(c.method, c.operands) for c in found] == [
        ("dtypes", ("self",)),
        ("dtypes", ("out",)),
        ("oneOf", ("mode",)),
    ]


def test_rules_come_last_and_have_a_code():
    read = parse(self="float", rules="sameDtype(self, out); 561103 size(self, -1, 1..63)")
    assert limits.statements(read)[1:] == [
        "limits.sameDtype({&self, &out});",
        "limits.code(561103);",
        "limits.size(self, -1, 1, 63);",
    ]
    assert read.operands == {"self", "out"}


@pytest.mark.parametrize(
    ("condition", "expression"),
    [
        ("self is half", "Limits::hasDtype(self, {at::kHalf, at::kBFloat16})"),
        ("self is not NZ", "!Limits::hasFormat(self, {ACL_FORMAT_FRACTAL_NZ})"),
        ("n is 2 3", "Limits::isNumber(n, {2, 3})"),
        ("mode is mean sum", 'Limits::isText(mode, {"mean", "sum"})'),
        ("out is given", "Limits::isGiven(out)"),
        ("out is absent and n is 0", "!Limits::isGiven(out) && Limits::isNumber(n, {0})"),
    ],
)
def test_a_rule_may_have_a_condition(condition, expression):
    read = parse(self="float", rules=f"when {condition}: sameDtype(self, out)")
    assert limits.statements(read)[1] == f"if ({expression}) limits.sameDtype({{&self, &out}});"
    assert read.operands == {"self", "out"} | {"n", "mode"} & set(condition.split())


def test_a_tensor_may_have_formats_behind_its_ranks():
    calls = limits.statements(parse(self="half; 2; ND NZ", out="half; ; NZ"))
    assert calls[2:] == [
        "limits.formats(self, {ACL_FORMAT_ND, ACL_FORMAT_FRACTAL_NZ});",
        "limits.dtypes(out, {at::kHalf, at::kBFloat16});",
        "limits.formats(out, {ACL_FORMAT_FRACTAL_NZ});",
    ]


@pytest.mark.parametrize(
    ("rule", "call"),
    [
        ("dtypes(out, half int8)", "dtypes(out, {at::kHalf, at::kBFloat16, at::kChar})"),
        ("among(n, 0, 64)", "among(n, {0, 64})"),
        ("sizeIsNot(self, -1, 1)", "sizeIsNot(self, -1, 1)"),
        ("sizeIs(self, 0, n)", "sizeIs(self, 0, n)"),
        ("absent(out)", "absent({&out})"),
    ],
)
def test_arguments_of_rules(rule, call):
    assert limits.statements(parse(self="float", rules=rule))[1] == f"limits.{call};"


def test_a_link_leads_to_the_document_at_the_commit_that_was_read():
    assert parse(self="any").document == (
        "https://github.com/hicann/ops-math/blob/c41933244c31e44fd496e3bb3212164f8c48c214"
        "/math/add/docs/aclnnAdd%26aclnnInplaceAdd.md"
    )


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"self": "flot"}, "'flot' is no dtype"),
        ({"self": "; 0..8"}, "no dtype is named"),
        ({"self": "float; few"}, "'few' are no ranks"),
        ({"self": "float; 2; NX"}, "'NX' is no format"),
        ({"self": "float; 2; ND; 3"}, "is not 'dtypes; ranks; formats'"),
        ({"rules": "when other is 1: sameDtype(self, out)"}, "is not 'parameter is"),
        ({"rules": "when n is half: sameDtype(self, out)"}, "'half' is not a number"),
        ({"other": "float"}, "'other' is no parameter"),
        ({"n": "small"}, "'small' is not a number"),
        ({"n": "1<..2"}, "'1<' is not a number"),
        ({"rules": "sameDtype(self, other)"}, "'other', which is no parameter"),
        ({"rules": "alike(self, out)"}, "no rule 'alike'"),
        ({"rules": "size(self, 1)"}, "size takes operand, number, range"),
        ({"rules": "axes(n, self, out)"}, "axes takes operand, operand"),
        ({"rules": "self is nice"}, "is not 'rule"),
        ({"source": "elsewhere/add.md", "self": "any"}, "is not a document"),
        ({}, "no limit is given"),
    ],
)
def test_a_limit_that_cannot_be_read_is_refused(raw, reason):
    with pytest.raises(limits.LimitError, match=reason):
        parse(**raw)


def test_the_first_phase_checks_limits_in_strict_mode_and_reports_missing_arguments_first(tmp_path):
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "family.yaml").write_text(
        textwrap.dedent(
            f"""
            - aclnn: Foo(Tensor self, Tensor? weight, double eps, Tensor! out)
              kernel: out.copy_(self)
              limits:
                source: {DOCUMENT}
                self weight: float
            """
        )
    )
    generate.generate(tmp_path, tmp_path / "table")
    text = (tmp_path / "softcann" / "family.cpp").read_text()
    assert "if (strictMode() && self != nullptr && out != nullptr) [[unlikely]] {" in text
    assert 'aclnnFooLimits({"self", self}, {"weight", weight});' in text


def test_a_limit_of_the_table_names_file_row_and_reason(tmp_path):
    (tmp_path / "family.yaml").write_text(
        "- {aclnn: 'Foo(Tensor! self)', kernel: x, limits: {source: x, self: any}}"
    )
    with pytest.raises(schema.TableError, match=r"table/family\.yaml: Foo.*limits: source 'x'"):
        schema.load(tmp_path)
