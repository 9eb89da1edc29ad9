"""Registry of source formats: the one list that spec, schema and run read.

Modules are named, and imported only when they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Records(StrEnum):
    """What delimits the records of a format, which decides if their number may be public.

    ROWS: the format states their number apart from what they hold. LINES: line ends do, unless a
    spec lets a record have several lines; an empty last line is a record only if it has its line
    feed. CONTENT: what a record holds decides whether it is one, as an empty last row of a sheet.
    """

    ROWS = "rows"
    LINES = "lines"
    CONTENT = "content"


class Naming(StrEnum):
    """What names the columns of a format.

    LINE and ROW stand before the records, and could be a record themselves; SCHEMA and CATALOGUE
    state types too.
    """

    LINE = "line"
    ROW = "row"
    SCHEMA = "schema"
    CATALOGUE = "catalogue"


class OwnOption(NamedTuple):
    """A key of ``[data]`` that one format alone takes; its value is one line of text.

    ``meaning`` and ``absent`` (what holds where it is left out) are the words of the reference and
    of the JSON Schema. The format finds the value by ``Source.get_own``.
    """

    meaning: str
    absent: str = "-"


def _list_endings(suffixes: tuple[str, ...], packed: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(suffix + how for suffix in suffixes for how in ("", *packed))


class Listed(NamedTuple):
    """A registered source format, with what is known without importing its module.

    ``module`` holds its SOURCE; ``title`` is its name in sentences; ``records`` says what delimits
    records: a wrong LINES or ROWS would make a number public that a record decides. ``suffixes``
    select the format by the name of a file, ``inside`` the files of a folder; ``packed`` are the
    suffixes of compression that may follow. ``options`` are the shared keys of ``[data]`` that say
    how texts are read, ``own`` the keys of this format alone, ``place`` those that say where the
    table is; any other key of these kinds is refused. Where CONTENT decides whether a record is
    one, ``explanation`` is the id of the sentence that says when. ``naming``: what names the
    columns, so that a spec can begin with them; None if nothing is asked before there is one.
    """

    module: str
    title: str
    records: Records
    suffixes: tuple[str, ...]
    inside: tuple[str, ...]
    options: frozenset[str] = frozenset()
    packed: tuple[str, ...] = ()
    place: tuple[str, ...] = ("path",)
    own: Mapping[str, OwnOption] = {}
    explanation: str = "plan.notes.content_decides_records"
    naming: Naming | None = None

    @property
    def keys(self) -> frozenset[str]:
        """Names of the keys of ``[data]`` that say how the format is read."""
        return self.options | self.own.keys()

    @property
    def endings(self) -> tuple[str, ...]:
        """Endings of the names of files that are read in a folder."""
        return _list_endings(self.inside, self.packed)


# name in [data] format -> what is known of it
SOURCES = {
    "csv": Listed(
        "dprelease.sources.csv.csv_source", "CSV", Records.LINES,
        (".csv", ".tsv", ".txt"), (".csv",),
        frozenset(
            {"delimiter", "quote", "encoding", "null_values", "header", "skip_rows",
             "unnamed_field", "names", "strip",
             "decimal", "thousands", "multiline", "max_lines_per_record"}
        ),
        (".gz", ".zst"),
        naming=Naming.LINE,
    ),
    "parquet": Listed(
        "dprelease.sources.parquet.parquet_source", "Parquet", Records.ROWS,
        (".parquet", ".pq"), (".parquet",), naming=Naming.SCHEMA,
    ),
    "arrow": Listed(
        "dprelease.sources.arrow.arrow_source", "Arrow", Records.ROWS,
        (".arrow", ".feather", ".ipc"), (".arrow", ".feather", ".ipc"),
        naming=Naming.SCHEMA,
    ),
    "xlsx": Listed(
        "dprelease.sources.xlsx.xlsx_source", "an Excel workbook", Records.CONTENT,
        (".xlsx",), (".xlsx",),
        own={
            "sheet": OwnOption(
                "the sheet of an Excel workbook that has the records", "its only one"
            )
        },
        explanation="plan.notes.empty_rows_of_sheets",
        naming=Naming.ROW,
    ),
    "adbc": Listed(
        "dprelease.sources.adbc.adbc_source", "in a database", Records.ROWS,
        (), (), place=("driver", "uri_env", "table"), naming=Naming.CATALOGUE,
    ),
    "frame": Listed(
        "dprelease.sources.frame.frame_source", "a table from Python", Records.ROWS,
        (), (), place=(),
    ),
}  # fmt: skip

SUFFIXES = {
    ending: name
    for name, listed in SOURCES.items()
    for ending in _list_endings(listed.suffixes, listed.packed)
}
"""The format that the suffix of a path stands for."""

# name in [data] driver, of a package adbc_driver_NAME and of our extra adbc-NAME -> its title
DRIVERS = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}

_NAME = re.compile(r'"(?:[^"]|"")+"|[^".]+')
_TABLE = re.compile(rf"(?:{_NAME.pattern})(?:\.(?:{_NAME.pattern}))?")
VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]{0,99}")


def split_table_name(text: str) -> tuple[str, ...] | None:
    """Split the name of a table, or its schema and name with a dot between; None for no name.

    A name in double quotes may hold dots, and a double quote written twice.
    """
    if not _TABLE.fullmatch(text):
        return None
    names = _NAME.findall(text)
    return tuple(name[1:-1].replace('""', '"') if name.startswith('"') else name for name in names)


def is_variable_name(text: str) -> bool:
    """Tell if a text can name an environment variable; a URI can't."""
    return VARIABLE.fullmatch(text) is not None
