"""Numbers in place of the texts of dictionary-encoded columns: grouping by numbers is faster.

A text gets its number from the first dictionary of a reading that holds it, so the text of a number
is known once everything is read. Numbers are used for nothing but grouping rows: the groups and
their content do not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dprelease.model import AggregateRequest, ColumnType
from dprelease.sources.shared.data_failures import list_read_columns
from dprelease.sources.shared.request_content import collect_content

MOST_TEXTS = 1 << 17
MOST_CHARACTERS = 1 << 24  # of all texts


class TooManyTextsError(Exception):
    """There are more texts than may be numbered."""


class TextNumbers:
    """The numbers of the texts of one column, in one reading."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._characters = 0
        self._dictionary: Any = None  # the last one, and the numbers of its texts
        self._of_dictionary: Any = None

    @property
    def is_exceeded(self) -> bool:
        """True if there were too many texts."""
        return len(self._numbers) > MOST_TEXTS or self._characters > MOST_CHARACTERS

    def number_places(self, places: Any) -> Any:
        """Number a column of places in a dictionary; raises TooManyTextsError."""
        import pyarrow as pa

        dictionary = places.dictionary
        if self._dictionary is None or not dictionary.equals(self._dictionary):
            numbers = [self._number(text) for text in dictionary.to_pylist()]
            self._dictionary, self._of_dictionary = dictionary, pa.array(numbers, pa.int32())
        return self._of_dictionary.take(places.indices)

    def build_table(self, number: str, text: str) -> Any:
        """Build a table of the texts met, with these names of its columns."""
        import pyarrow as pa

        texts = pa.array(self._numbers, pa.string())
        return pa.table({number: pa.array(range(len(texts)), pa.int32()), text: texts})

    def _number(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self._numbers))
        if number == len(self._numbers) - 1:
            self._characters += len(text)
            if self.is_exceeded:
                raise TooManyTextsError
        return number


def number_texts(
    schema: Any, batches: Iterator[Any], numbers: Mapping[str, TextNumbers]
) -> tuple[Any, Iterator[Any]]:
    """Replace some columns of texts by their numbers."""
    import pyarrow as pa

    if not numbers:
        return schema, batches  # as they are: their watcher learns of an interruption
    for name in numbers:
        schema = schema.set(schema.get_field_index(name), pa.field(name, pa.int32()))

    def convert_batches() -> Iterator[Any]:
        for batch in batches:
            columns = {
                name: numbers[name].number_places(column) if name in numbers else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            }
            yield pa.record_batch(columns, schema=schema)

    return schema, convert_batches()


def find_group_columns(request: AggregateRequest) -> frozenset[str]:
    """Find columns of texts that only groups of declared keys read."""
    content = collect_content(request)
    computed = (column.expression for column in request.inputs)
    expressions = (request.where, *content.conditions, *computed)
    read = {name for expression in expressions if expression for name in expression.columns}
    texts = {
        column.name
        for column in list_read_columns(request.inputs)
        if column.type is ColumnType.STRING and not column.opaque
    }
    grouped = {group.column for group in request.groups if not group.private}
    return frozenset((texts & grouped) - read - set(content.values))
