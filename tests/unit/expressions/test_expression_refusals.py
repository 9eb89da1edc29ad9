"""What the whitelist refuses, and that hostile text ends in a refusal."""

import contextlib
from typing import Any

import builders
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp
from thorough import examples, for_each

from dprelease.errors import Failure
from dprelease.expressions import ExpressionError, parse_tree
from dprelease.model import ColumnType
from dprelease.specfile import load

TYPES = {
    "age": ColumnType.INTEGER,
    "cost": ColumnType.DECIMAL,
    "sex": ColumnType.STRING,
    "paid": ColumnType.BOOLEAN,
    "day": ColumnType.DATE,
    "at": ColumnType.TIMESTAMP,
    "marital-status": ColumnType.STRING,
}

REFUSED = """
(SELECT 1)|age IN (SELECT 1)|SUM(age)|COUNT(*)|ROW_NUMBER() OVER ()|*|$1|?|random()|now()
CURRENT_DATE|read_csv('x')|getenv('HOME')|age[1]|sex.x|t.age|{'a': 1}|[1, 2]|x -> x + 1
age IS TRUE|uuid()|age; DROP TABLE x|age -- hidden|age /* hidden */|SELECT 1|age age
sex LIKE 'a' ESCAPE 'x'|sex LIKE sex|TRY_CAST(sex AS integer)|CAST(sex AS boolean)
CAST(paid AS date)|CAST(day AS integer)|REPLACE(sex, sex, 'x')|REPLACE(sex, '', 'x')|REPLACE(sex)
CAST(age AS varchar)|CAST(age AS decimal(3, 1))|E'a'|$$a$$|CASE age WHEN 1 THEN 2 END
IF(paid, 1, 2)|age IN (age)|age IN (NULL)|SUBSTRING(sex, 0, 1)|SUBSTRING(sex, age)
ROUND(cost, age)|ROUND(cost, 99)|DATE_DIFF('month', day, day)|EXTRACT(dow FROM day)|HOUR(day)
DATE '2026-02-30'|DATE 'x'|TIMESTAMP '2026-01-01 25:00:00'|day + INTERVAL 1 DAY|1e999
99999999999999999999|age = '18'|sex = 1|sex > day|day = '2026-01-01'|paid + 1|paid AND age
NOT age|-sex|age < 1 < 2|LOWER(age)|TRIM(BOTH 'x' FROM sex)|sex COLLATE x|age = ANY(sex)
sex SIMILAR TO 'a'|sex ILIKE 'a'|regexp_matches(sex, 'a')|age & 1|age // 2|age ** 2|sqrt(age)
hash(sex)|COALESCE(age, sex)|sex GLOB 'a'|COLUMNS(*)|age IS DISTINCT FROM 1|'unclosed|"unclosed
)|(|,|FLOOR()|CEIL()|REPLACE(sex, 'x')|MAKE_DATE(age)|MAKE_DATE(age, 1)|MAKE_DATE(age, 1, 1, 1)
""".replace("\n", "|").split("|")


NAMES_OF_PARSER = {each for each in vars(exp) if each[0].isupper() and not each.isupper()}


@for_each(
    "text", [*filter(None, REFUSED), "", "  ", "age\x00", "age\x07", "age||", "sex || sex ||"]
)
def test_refused_by_name_with_a_remedy(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_tree(text, TYPES, "value")
    assert caught.value.message
    assert caught.value.hint
    assert 0 <= caught.value.offset <= len(text)
    assert not NAMES_OF_PARSER & set(caught.value.message.replace('"', " ").split())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("sex > day", 'combined in ">"'),
        ("sex != 1", 'combined in "!="'),
        ("sex <> 1", 'combined in "<>"'),
        ("sex = 1 OR sex = '!='", 'combined in "="'),
        ("sex == 1", 'combined in "=="'),
        ("paid + 1", '"+" needs'),
        ("-sex", '"-" needs'),
        ("NOT age", "NOT needs"),
        ("substr(age, 1)", "SUBSTR needs"),
        ("LENGTH(age)", "LENGTH needs"),
        ("ISODOW(age)", "ISODOW needs"),
        ("MAKE_DATE(age, 1, day)", "MAKE_DATE needs"),
        ("make_date(age, 1)", "this form of MAKE_DATE is not"),
        ("age IN ('a')", "combined in IN"),
        ("day::integer", '"::" needs'),
        ("CAST(age AS varchar)", "CAST to VARCHAR is not"),
        ("CAST(age AS decimal(3, 1))", "this form of CAST is not"),
        ("age IN (SELECT 1)", "this form of IN is not"),
        ("(SELECT 1)", "a subquery is not"),
        ("t.age", "a name with a point is not"),
        ("age ** 2", '"**" is not'),
        ("pow(age, 2)", "POW() is not"),
        ("ABS(age) > median(age)", "MEDIAN() is not"),
        ("regexp_matches(sex, 'a')", "REGEXP_MATCHES() is not"),
        ("current_date", "CURRENT_DATE is not"),
        ("today()", "TODAY() is not"),
        ("sex ILIKE 'a'", "ILIKE is not"),
        ("nonsense(sex)", "NONSENSE() is not"),
    ],
)
def test_what_is_refused_is_called_as_it_was_written(text: str, named: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_tree(text, TYPES, "value")
    assert named in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "(" * 1500 + "age" + ")" * 1500,
        "NOT " * 900 + "paid",
        "-" * 3999 + "1",
        "- " * 1900 + "1",
        "age + " * 900 + "1",
        "CASE WHEN paid THEN " * 190,
        "age" * 400_000,
        "'" * 3999,
        "a.b" * 1000,
        "::integer" * 400,
    ],
)
def test_hostile_text_is_refused_quickly(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_tree(text, TYPES, "value")


@given(st.text(alphabet="age cost(),'\"+-*/%<>=.;:[]{}$?!|&\\0123456789ENDOR\n\x00é", max_size=40))
@settings(max_examples=examples(300), deadline=None, derandomize=True)
def test_any_text_is_accepted_or_refused(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        parse_tree(text, TYPES)


def test_an_unknown_column_is_named_with_its_place_and_the_nearest_one() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_tree("age > 1 AND sx = 'F'", TYPES, "condition")
    assert caught.value.message == 'unknown column "sx"'
    assert caught.value.hint == 'did you mean "sex"?'
    assert caught.value.offset == 12


def test_a_column_with_a_sign_in_its_name_is_to_be_quoted() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_tree("marital-status = 'x'", TYPES, "condition")
    assert caught.value.hint == (
        'write a name with special characters in double quotes, such as "marital-status"'
    )


WORDS_OF_SQL = dict.fromkeys(
    ["select", "from", "case", "current_date", "order", "age"], ColumnType.INTEGER
)


@pytest.mark.parametrize("name", ["select", "from", "case", "current_date"])
def test_a_column_named_like_a_word_of_sql_is_to_be_quoted(name: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_tree(f"age > 1 AND {name} = 1", WORDS_OF_SQL, "condition")
    assert caught.value.hint.endswith(f'in double quotes: "{name}"')
    assert parse_tree(f'age > 1 AND "{name}" = 1', WORDS_OF_SQL, "condition").list_columns() == (
        "age",
        name,
    )


def test_other_mistakes_have_their_own_hints() -> None:
    for text in ("age > 'a' OR \"case\" = 1", "SUM(age) > 1", "age ++", "ages = 1"):
        with pytest.raises(ExpressionError) as caught:
            parse_tree(text, WORDS_OF_SQL, "condition")
        assert "double quotes" not in caught.value.hint


def test_a_condition_is_boolean_and_lists_its_columns() -> None:
    found = parse_tree("\"marital-status\" = 'x' OR age BETWEEN 18 AND 65", TYPES, "condition")
    assert found.list_columns() == ("marital-status", "age")
    with pytest.raises(ExpressionError, match="true or false"):
        parse_tree("age + 1", TYPES, "condition")


def test_result_types() -> None:
    assert parse_tree("age / 2", TYPES).type is ColumnType.FLOAT
    assert parse_tree("age % 2", TYPES).type is ColumnType.INTEGER
    assert parse_tree("YEAR(at)", TYPES).type is ColumnType.INTEGER
    assert parse_tree("NULL", TYPES).type is None


REPEATED = "||".join(["sex"] * 30)


@pytest.mark.parametrize(
    "text",
    [
        "LENGTH(" + "||".join(["sex"] * 21) + ")",
        "||".join([f"CONCAT({', '.join(['sex'] * 20)})"] * 5),
        f"UPPER({REPEATED})",
        f"REPLACE(sex, 'a', '{'b' * 201}')",
        f"REPLACE(REPLACE(sex, 'aa', '{'b' * 40}'), 'b', '{'c' * 20}')",
        f"CASE WHEN paid THEN COALESCE({REPEATED}, 'x') ELSE sex END",
    ],
)
def test_texts_do_not_grow_without_bound(text: str) -> None:
    with pytest.raises(ExpressionError, match="joins texts too often"):
        parse_tree(text, TYPES, "value")


@pytest.mark.parametrize(
    "text",
    [
        "||".join(["sex", "'-'"] * 10),
        f"CONCAT({', '.join(['sex'] * 200)})",
        "LENGTH(sex) * 1000",
        f"sex IN ({', '.join(['1'.join(chr(39) * 2)] * 300)})",
    ],
)
def test_joining_some_texts_is_fine(text: str) -> None:
    assert parse_tree(text, TYPES, "value").list_columns()


def nested(form: str, depth: int) -> str:
    text = "cost"
    for _ in range(depth):
        text = form.replace("{}", text)
    return text


@pytest.mark.parametrize(
    "form",
    [
        "(cost / {})",
        "(cost % {})",
        "(age % {})",
        "NULLIF({}, 2.5)",
        "COALESCE({} * cost, 1.5)",
        "CASE WHEN {} * cost > 1 THEN 1.5 ELSE cost END",
        "CAST(({} BETWEEN 1 AND cost) AS float)",
        "CAST(({} IN (1, 2, 3)) AS float)",
        "GREATEST({} + cost, 2)",
    ],
)
def test_what_duckdb_writes_out_twice_is_not_nested_deep(form: str) -> None:
    with pytest.raises(ExpressionError, match="too deep"):
        parse_tree(nested(form.replace("age", "cost"), 20), TYPES, "value")
    assert parse_tree(nested(form, 1), TYPES, "value").list_columns()
    assert parse_tree(nested(form.replace("age", "cost"), 5), TYPES, "value").list_columns()


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%"])
def test_a_chain_of_arithmetic_is_not_nested(operator: str) -> None:
    assert parse_tree(operator.join(["cost"] * 55), TYPES, "value").list_columns()
    assert parse_tree(operator.join(["age"] * 55), TYPES, "value").list_columns()


JOINED = f"CONCAT({', '.join(['s'] * 70)})"
OTHER = f"CONCAT({', '.join(['s'] * 69)})"
THIRD = f"CONCAT({', '.join(['s'] * 68)})"
SCORE = {"statistic": "best", "candidates": ["a"], "score_upper": 1}
RATIO = {"statistic": "ratio"}


@pytest.mark.parametrize(
    ("derived", "queries", "key"),
    [
        ([JOINED, OTHER, THIRD], [{}], "columns.c2.expression"),
        ([JOINED, OTHER], [{"where": f"{THIRD} = 'a'"}], "query[0].where"),
        ([], [{"where": f"{text} = 'a'"} for text in (JOINED, OTHER, THIRD)], "query[2].where"),
        (
            [JOINED, OTHER],
            [SCORE | {"score": f"CASE WHEN {THIRD} = candidate THEN 1 ELSE 0 END"}],
            "query[0].score",
        ),
        (
            [JOINED],
            [RATIO | {"numerator": f"{OTHER} = 'a'", "denominator": f"{THIRD} = 'a'"}],
            "query[0].denominator",
        ),
        ([OTHER, OTHER], [{"where": f"{JOINED} = 'a'"}] * 2, None),
    ],
)
def test_the_expressions_of_a_spec_together_do_not_grow_without_bound(
    derived: list[str], queries: list[dict[str, Any]], key: str | None
) -> None:
    computed = {
        f"c{at}": {"type": "string", "expression": text, "keys": ["a"], "source": "p"}
        for at, text in enumerate(derived)
    }
    spec = builders.spec(
        privacy={
            "epsilon": 1,
        },
        columns={"s": {"type": "string"}, **computed},
        query=[{"name": f"q{at}", "statistic": "count", **q} for at, q in enumerate(queries)],
    )
    complaints = []
    try:
        load(spec)
    except Failure as failure:
        complaints = failure.complaints
    assert [complaint.key for complaint in complaints] == ([] if key is None else [key])
    assert all("the expressions of the spec join 207 texts" in c.message for c in complaints)
