"""Key columns keep their type when all labels fit it, and are text otherwise."""

from datetime import date, datetime

import pytest

from dprelease.model import ColumnType, OutputColumn
from dprelease.output.key_types import choose_published_type, convert_labels


def key(kind: ColumnType | None, *labels: str | None) -> OutputColumn:
    return OutputColumn("k", "key", labels, "A key.", type=kind)


@pytest.mark.parametrize(
    ("kind", "labels", "values"),
    [
        (ColumnType.INTEGER, ("-5", "0", "12"), [-5, 0, 12]),
        (ColumnType.BOOLEAN, ("true", "false"), [True, False]),
        (ColumnType.DATE, ("2024-02-29",), [date(2024, 2, 29)]),
        (
            ColumnType.TIMESTAMP,
            ("2024-01-01 00:00:00", "2024-01-01 00:00:00.000001"),
            [datetime(2024, 1, 1), datetime(2024, 1, 1, microsecond=1)],
        ),
        (ColumnType.STRING, ("5", ""), ["5", ""]),
    ],
)
def test_labels_that_fit(kind: ColumnType, labels: tuple[str, ...], values: list[object]) -> None:
    found, read = convert_labels(key(kind, *labels, None))
    assert found is kind
    assert list(read.values()) == values


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        (ColumnType.INTEGER, "other"),
        (ColumnType.INTEGER, "[0, 5)"),
        (ColumnType.INTEGER, str(2**63)),
        (ColumnType.INTEGER, "1" * 5000),
        (ColumnType.INTEGER, "+1"),
        (ColumnType.BOOLEAN, "yes"),
        (ColumnType.DATE, "2023-02-29"),
        (ColumnType.DATE, "20230228"),
        (ColumnType.TIMESTAMP, "2024-01-01T00:00:00"),
        (ColumnType.TIMESTAMP, "2024-01-01 25:00:00"),
    ],
)
def test_one_other_label_makes_it_text(kind: ColumnType, label: str) -> None:
    assert choose_published_type(key(kind, "1", "true", label)) is ColumnType.STRING
    assert choose_published_type(key(kind, label)) is ColumnType.STRING


@pytest.mark.parametrize("kind", [ColumnType.DECIMAL, ColumnType.FLOAT, None])
def test_decimal_keys_stay_the_text_that_was_declared(kind: ColumnType | None) -> None:
    assert convert_labels(key(kind, "1.50")) == (ColumnType.STRING, {"1.50": "1.50"})
