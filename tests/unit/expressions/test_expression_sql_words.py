"""A column that is named like a word of SQL: the refusal says to quote it."""

import pytest

from dprelease.expressions import ExpressionError, parse
from dprelease.model import ColumnType

TYPES = dict.fromkeys(
    ["select", "from", "case", "current_date", "order", "age"], ColumnType.INTEGER
)


@pytest.mark.parametrize("name", ["select", "from", "case", "current_date"])
def test_the_hint_says_to_quote_it(name: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(f"age > 1 AND {name} = 1", TYPES, "condition")
    assert caught.value.hint.endswith(f'in double quotes: "{name}"')
    assert parse(f'age > 1 AND "{name}" = 1', TYPES, "condition").columns == ("age", name)


def test_other_mistakes_have_their_own_hints() -> None:
    for text in ("age > 'a' OR \"case\" = 1", "SUM(age) > 1", "age ++", "ages = 1"):
        with pytest.raises(ExpressionError) as caught:
            parse(text, TYPES, "condition")
        assert "double quotes" not in caught.value.hint
