"""Files of a source, and the header of CSV files. Reads the structure only, no values."""

from __future__ import annotations

import codecs
import glob
import os
import stat
from collections.abc import Iterator, Sequence

from msgspec import Struct

from dprelease.expressions.nodes import BLANKS
from dprelease.files.csv_line import split_line
from dprelease.files.uris import is_uri
from dprelease.model import Dialect, InputColumn, Source
from dprelease.model.source_registry import SOURCES
from dprelease.sources.shared.column_names import choose_place, find_places
from dprelease.sources.shared.data_failures import build_data_failure, list_read_columns
from dprelease.sources.shared.first_lines import LINE_LIMIT, Beginning, read_beginning
from dprelease.sources.shared.locations import (
    find_packing,
    is_hidden,
    list_uris,
    open_binary,
    open_unpacked,
    strip_packing_suffix,
)

_ASCII = "".join(map(chr, range(128)))
CELL_LIMIT = LINE_LIMIT  # bytes; a longer cell of any other format is null


def resolve(source: Source) -> tuple[str, ...]:
    """Find the files of a source and check that they can be read.

    A folder gives the files in it and below that have a suffix of the format, hidden ones left out.
    A file must not be there both compressed and not. A CSV file may be empty if no header is
    declared.

    Args:
        source: Its pattern is a file, a glob, a folder, or a URI of one.

    Returns:
        Paths in order, one for each file.

    Raises:
        Failure: Exit code 4 if no file matches, or one can't be read or is empty.
    """
    pattern = source.pattern
    may_be_empty = source.format == "csv" and not source.dialect.header
    remote = is_uri(pattern)
    try:
        endings = SOURCES[source.format].endings
        paths = list_uris(pattern, endings) if remote else _list_matches(pattern, endings)
        if not paths:
            raise build_data_failure("E401", f"no data file matches {pattern}")
        for path in paths:
            check_file(path, pattern, may_be_empty, bool(SOURCES[source.format].packed))
    except OSError:
        raise build_data_failure("E402", f"{pattern} can't be read") from None
    _check_once(paths, pattern)
    if remote:
        return tuple(paths)
    # two names of one file would count its records twice
    return tuple({os.path.realpath(path): path for path in reversed(paths)}.values())[::-1]


def _list_matches(pattern: str, suffixes: tuple[str, ...]) -> list[str]:
    if os.path.isdir(pattern):
        return sorted(_iter_below(pattern, suffixes))
    if os.path.lexists(pattern):
        return [pattern]
    return sorted(glob.glob(pattern, recursive=True)) if glob.has_magic(pattern) else []


def _iter_below(folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Iterate over the files in a folder and below, through links, each folder once."""

    def refuse(problem: OSError) -> None:
        raise problem

    seen: set[str] = set()
    for place, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        if (real := os.path.realpath(place)) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        for name in names:
            if name.lower().endswith(suffixes) and not is_hidden(name):
                yield os.path.join(place, name)


def _check_once(paths: Sequence[str], pattern: str) -> None:
    """Refuse a file that is there compressed too."""
    if len(set(map(strip_packing_suffix, paths))) < len(set(paths)):
        message = (
            f"{pattern} holds a file both compressed and uncompressed, or compressed in two ways"
        )
        raise build_data_failure("E419", message)


def check_file(path: str, pattern: str, may_be_empty: bool, unpack: bool = False) -> None:
    """Refuse a file that is not a plain one with content; links are followed.

    Args:
        path: The file, or its URI.
        pattern: Name of the source for messages.
        may_be_empty: Accept an empty file.
        unpack: Decompress a compressed file to check its content.

    Raises:
        Failure: Exit code 4.
        OSError: The file can't be opened, as for a loop of links.
    """
    if any("\ud800" <= char <= "\udfff" for char in path):
        message = f"{pattern} holds a file or folder whose name is not UTF-8"
        raise build_data_failure("E402", message, "rename it: readers of files can't open it")
    if not is_uri(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise build_data_failure(
            "E402", f"{pattern} holds something that is not a file", "name files only"
        )
    unpack = unpack and bool(find_packing(path))
    with open_unpacked(path) if unpack else open_binary(path) as stream:
        try:
            content = stream.read(1)
        except OSError:
            if not unpack:
                raise
            hint = "it may be damaged or incomplete: compress it again"
            raise build_data_failure("E402", f"{pattern} can't be decompressed", hint) from None
        if not content and not may_be_empty:
            raise build_data_failure("E403", f"{pattern} is empty (zero bytes)")


def read_marks(path: str) -> tuple[int, ...] | None:
    """Read marks that change with a file's content; None of a URI. Raises OSError if it is gone."""
    if is_uri(path):
        return None
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _check_end(path: str, pattern: str, returns: bool) -> None:
    """Refuse a file whose last line does not end as its header does."""
    # An empty last record without a line end would not be there. Nor would an empty record whose
    # line feed follows on a carriage return, where these end lines alone.
    try:
        with open_binary(path) as stream:
            if not stream.seek(0, os.SEEK_END):
                return
            stream.seek(-1, os.SEEK_END)
            last = stream.read(1)
    except OSError:
        raise build_data_failure("E402", f"{pattern} can't be read") from None
    if last != (b"\r" if returns else b"\n"):
        end = "carriage return, as its header has" if returns else "line feed"
        message = f"the last line of a file of {pattern} does not end with a {end}"
        raise build_data_failure("E434", message)


class Split(Struct, frozen=True):
    """A part of a file that is read by itself: bytes of a CSV file, else parts like row groups.

    It reaches from ``start`` to before ``end``, or to the end of the file. A line belongs to the
    split that holds its first byte.
    """

    path: str
    start: int = 0
    end: int | None = None


class Layout(Struct, frozen=True):
    """Places of the declared columns in every CSV file of the source.

    ``width`` is the number of fields in the header, ``position`` the field (from 0) of each column.
    ``nameless``: so many fields at the end of the header have no name, and a record may leave them
    out. ``preamble`` lines stand before the header of each file; None if the files differ, or a
    quote in them could mislead a reader of whole records. ``must_end``: a file whose last line has
    no line end is not read.
    """

    paths: tuple[str, ...]
    width: int
    position: dict[str, int]
    encoding: str
    must_end: bool = False
    nameless: int = 0
    preamble: int | None = 0

    def has_record(self, fields: Sequence[str] | None) -> bool:
        """Tell if fields are those of a record; beyond the header they must be empty."""
        if fields is None or len(fields) < self.width - self.nameless:
            return False
        return len(fields) <= self.width or not "".join(fields[self.width :]).strip(BLANKS)


def lay_out(source: Source, inputs: Sequence[InputColumn]) -> Layout:
    """Read the header lines and find the columns.

    Args:
        source: A CSV source.
        inputs: The columns that the request reads or computes.

    Raises:
        Failure: Exit code 4 if a header can't be read, or a column is missing or doubled.
    """
    paths = resolve(source)
    dialect = source.dialect
    encoding = _find_encoding(dialect.encoding)
    beginnings = [_read_beginning(path, dialect, source.pattern) for path in paths]
    if source.must_end:
        for path, beginning in zip(paths, beginnings, strict=True):
            if not find_packing(path):  # of a packed one it is known when it is read
                _check_end(path, source.pattern, beginning.returns)
    names = _read_names(beginnings, dialect, encoding, source.pattern)
    where = "the header" if dialect.header else "[data] names"
    usual = f"{where} must hold exactly this name, including upper and lower case"
    position = {
        column.name: choose_place(
            find_places(names, column.name), names, column.name, source.pattern, usual
        )
        for column in list_read_columns(inputs)
    }
    named = max((place for place, name in enumerate(names, 1) if name.strip()), default=1)
    preambles = {len(beginning.preamble) for beginning in beginnings}
    quote = dialect.quote.encode()
    is_quoted = bool(quote) and any(quote in line for each in beginnings for line in each.preamble)
    return Layout(
        paths, len(names), position, encoding, source.must_end, len(names) - named,
        None if is_quoted or len(preambles) > 1 else preambles.pop(),
    )  # fmt: skip


def _read_beginning(path: str, dialect: Dialect, pattern: str) -> Beginning:
    """Read the lines of a file before its records."""
    try:
        with open_unpacked(path) as stream:
            beginning = read_beginning(stream, dialect)
    except OSError:
        beginning = None
    if beginning is None:
        if dialect.skip_rows:
            message = f"{pattern} has no header after its first {dialect.skip_rows} lines"
            if not dialect.header:
                message = f"{pattern} has fewer than the {dialect.skip_rows} lines of skip_rows"
            raise build_data_failure("E404", message, "write how many lines stand before it")
        raise build_data_failure("E404", f"the header line of {pattern} can't be read")
    if beginning.separator not in {None, dialect.delimiter} and dialect.header:
        message = f"the line sep= at the beginning of {pattern} names another delimiter"
        raise build_data_failure(
            "E404", message, "write that character as delimiter in [data]", "data.delimiter"
        )
    return beginning


def _read_names(
    beginnings: Sequence[Beginning], dialect: Dialect, encoding: str, pattern: str
) -> tuple[str, ...]:
    """Read column names in file order: declared ones, or those of the common header."""
    names = dialect.names
    if dialect.header:
        headers = {_read_header(each, dialect, encoding, pattern) for each in beginnings}
        if len(headers) > 1:
            raise build_data_failure("E407", f"the files of {pattern} have different headers")
        names = headers.pop()
        unnamed = {"first": ("", *names), "last": (*names, "")}
        names = unnamed.get(dialect.unnamed_field, names)
    if not names:
        raise build_data_failure(
            "E404", f"{pattern} has no column names", "set header or names in [data]"
        )
    return names


def _read_header(
    beginning: Beginning, dialect: Dialect, encoding: str, pattern: str
) -> tuple[str, ...]:
    problem = build_data_failure("E404", f"the header line of {pattern} can't be read")
    try:
        text = (beginning.header or b"").decode(encoding)
    except UnicodeDecodeError:
        raise problem from None
    fields = split_line(text, dialect.delimiter, dialect.quote)
    if fields is None:
        raise problem
    if dialect.strip:
        fields = [field.strip(" \t") for field in fields]
    return tuple(fields)


def _find_encoding(name: str) -> str:
    """Find Python's name of the encoding; refuse one that changes ASCII."""
    try:
        codec = codecs.lookup(name).name
        text = bytes(range(256)).decode(codec, "replace")
        one_byte = len(text) == 256
        if not text.startswith(_ASCII) or not (one_byte or codec in ("utf-8", "utf-8-sig")):
            raise LookupError
    except (LookupError, UnicodeDecodeError):
        raise build_data_failure("E408", f'encoding "{name}" is not supported') from None
    return "utf-8" if codec == "utf-8-sig" else codec
