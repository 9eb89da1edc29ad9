"""Arrow IPC files, which Feather 2 files are too, as a source of records.

A file holds record batches one after another, compressed or not, and a footer with the places of
all of them; a stream without a footer is not such a file. Types and values are read as those of
Parquet (see ``arrow_types`` and ``arrow_values``). The declared columns of a batch are read whole,
so memory is that of the largest batch. Its offsets are checked before anything uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dprelease.files.uris import is_uri
from dprelease.model import InputColumn, Source
from dprelease.sources.shared.arrow_types import (
    build_unknown_type_failure,
    choose_type,
    convert_type,
    describe_columns,
    find_common_type,
    find_zones,
    is_text,
)
from dprelease.sources.shared.column_layout import ColumnLayout, name_fields
from dprelease.sources.shared.data_failures import build_data_failure, list_read_columns
from dprelease.sources.shared.files import Split, resolve
from dprelease.sources.shared.locations import get_size, open_binary
from dprelease.sources.shared.partitions import check_apart, find_partitions
from dprelease.sources.shared.record_stream import RecordStream
from dprelease.sources.shared.source_format import StoredColumn

BATCH_ROWS = 1 << 16  # records of a batch that is passed on


class ArrowTable(ColumnLayout, frozen=True):
    """See ``Table`` and ``ColumnLayout``; ``batches`` are how many each file has."""

    paths: tuple[str, ...]
    batches: tuple[int, ...]

    def stream(self, splits: Sequence[Split] = ()) -> RecordStream:
        """See ``Table``."""
        parts = splits or [Split(path) for path in self.paths]
        return self.open_stream(
            lambda layout, schema, count: layout._iter_batches(parts, schema, count),
            lambda: sum(self.batches),
        )

    def fast(self) -> None:
        """Return None: one reader reads all Arrow files."""

    def pieces(self) -> Sequence[tuple[str, tuple[int, ...]]]:
        """List the batches of each file, taken to be of equal size. Raises OSError."""
        return [
            (path, (max(1, get_size(path) // max(1, number)),) * number)
            for path, number in zip(self.paths, self.batches, strict=True)
        ]

    def _iter_batches(
        self, parts: Iterable[Split], schema: Any, count: Callable[[int], None]
    ) -> Iterator[Any]:
        """Iterate over batches of the schema; ``count`` is told of each batch of a file."""
        import pyarrow as pa

        try:
            for part in parts:
                with open_file(part.path) as file:
                    names = file.schema.names
                with open_file(
                    part.path, [names.index(name) for name in self.types] or [0]
                ) as file:
                    for place in range(file.num_record_batches)[part.start : part.end]:
                        batch = _check_batch(file.get_batch(place))
                        count(1)
                        for start in range(0, batch.num_rows, BATCH_ROWS):
                            yield self.build_batch(
                                batch.slice(start, BATCH_ROWS), part.path, schema
                            )
        except MemoryError:
            raise
        except (pa.ArrowException, ValueError, KeyError):
            raise OSError("a batch or footer can't be decoded") from None


class Arrow:
    """See ``SourceFormat``."""

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> ArrowTable:
        """See ``SourceFormat``; reads footers only. Raises Failure(DATA)."""
        paths, pattern = resolve(source), source.pattern
        partitions = find_partitions(source, paths, list_read_columns(inputs))
        columns = [column for column in list_read_columns(inputs) if column.name not in partitions]
        kinds: list[dict[str, Any]] = []
        batches: list[int] = []
        coded: set[str] = set()
        zones: dict[str, str] = {}
        for path in paths:
            schema, number = _read_footer(path, pattern)
            check_apart(partitions, schema.names, pattern)
            kinds.append({column.name: choose_type(schema, column, pattern) for column in columns})
            batches.append(number)
            zones |= find_zones(schema, kinds[-1])
            coded |= {name for name in kinds[-1] if _is_coded(schema.field(name).type)}
        types = {}
        for column in columns:
            common = find_common_type([kind[column.name] for kind in kinds], column, pattern)
            types[column.name] = convert_type(common, column)
        fields = name_fields(*types, *partitions)
        return ArrowTable(types, frozenset(coded), partitions, fields, zones, paths, tuple(batches))

    def list_columns(self, source: Source) -> list[StoredColumn]:
        """See ``SelfDescribing``."""
        return describe_columns(_read_footer(resolve(source)[0], source.pattern)[0])


SOURCE = Arrow()


def open_file(path: str, included: Sequence[int] = ()) -> Any:
    """Open a reader of an Arrow file.

    Args:
        path: A path or a URI.
        included: Places of the columns to read; none given reads all.

    Raises:
        OSError: The file can't be opened.
        ValueError: The file is damaged; other errors of Arrow are possible too.
    """
    import pyarrow as pa
    from pyarrow import ipc

    # Don't map the file into memory: if it is truncated meanwhile, that would kill the process.
    file = pa.PythonFile(open_binary(path), "r") if is_uri(path) else pa.OSFile(path)
    options = ipc.IpcReadOptions(included_fields=list(included), use_threads=False)
    return ipc.open_file(file, options=options)


def _read_footer(path: str, pattern: str) -> tuple[Any, int]:
    """Read the schema of a file and its number of batches; raises Failure(DATA)."""
    import pyarrow as pa

    try:
        with open_file(path) as file:
            schema, number = file.schema, file.num_record_batches
            _ = schema.names  # raises where a name is no text
    except (OSError, ValueError, MemoryError):
        hint = "it may be incomplete or damaged, or a stream without a footer: write it as a file"
        raise build_data_failure("E409", f"{pattern} is not a readable Arrow file", hint) from None
    except pa.ArrowException:  # what is damaged is a ValueError of Arrow's
        raise build_unknown_type_failure(pattern) from None
    return schema, number


def _is_coded(physical: Any) -> bool:
    """Tell if texts are stored as places in a dictionary."""
    from pyarrow import types

    is_place = types.is_dictionary(physical) or types.is_run_end_encoded(physical)
    return is_place and is_text(physical.value_type)


def _check_batch(batch: Any) -> Any:
    """Return the batch after checking its offsets; raises ArrowInvalid for bad ones."""
    import pyarrow as pa

    for column in batch.columns:
        values = column.storage if isinstance(column, pa.ExtensionArray) else column
        if pa.types.is_run_end_encoded(values.type):
            values.validate(full=True)
            values = values.values
        if pa.types.is_dictionary(values.type):
            # The indices are checked against a dictionary of nulls: its texts may not be UTF-8.
            _check_offsets(values.dictionary)
            pa.DictionaryArray.from_arrays(
                values.indices, pa.nulls(len(values.dictionary), pa.int8())
            ).validate(full=True)
        else:
            _check_offsets(values)
    return batch


def _check_offsets(values: Any) -> None:
    """Raise ArrowInvalid for buffers that are too small, or places outside of them."""
    import pyarrow as pa

    # As bytes: what is not UTF-8 is for ``convert_readable``, not an error of the file.
    raw = {
        pa.string(): pa.binary(),
        pa.large_string(): pa.large_binary(),
        pa.string_view(): pa.binary_view(),
    }
    values.validate()
    if values.type in raw:
        values = values.view(raw[values.type])
    if values.type in raw.values():
        values.validate(full=True)
