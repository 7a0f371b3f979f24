"""The page of all operators."""

import textwrap

from operators import document, generate, schema


def rows(tmp_path, text):
    (tmp_path / "family.yaml").write_text(textwrap.dedent(text))
    return schema.load(tmp_path)


def test_the_page_in_docs_is_what_the_table_says():
    expected = document.page(schema.load(generate.ROOT / "table"))
    assert document.PAGE.read_text() == expected, "run `make docs`, which writes docs/operators.md"


def test_a_row_is_one_line_with_all_forms_of_its_operators(tmp_path):
    text = document.page(
        rows(
            tmp_path,
            """
            - aclnn: Sin(Tensor self, Tensor! out)
              aten: [sin]
            - softcann: Foo(Tensor! self)
              kernel: self.zero_()
            """,
        )
    )
    assert "\n| `aclnnSin` | `sin` `sin.out` `sin_` |  |\n" in text
    assert "\n| `softcannFoo` |  |  |\n" in text


def test_a_family_is_sorted_by_function(tmp_path):
    text = document.page(
        rows(
            tmp_path,
            """
            - {aclnn: 'Sin(Tensor self, Tensor! out)', aten: [sin]}
            - {aclnn: 'Cos(Tensor self, Tensor! out)', aten: [cos]}
            """,
        )
    )
    assert text.index("aclnnCos") < text.index("aclnnSin")
