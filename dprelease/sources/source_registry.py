"""Registry of source formats: the one list, which spec, schema and run read.

Modules are named, and imported only when they are asked for.
"""

from __future__ import annotations

from typing import NamedTuple


def _list_endings(suffixes: tuple[str, ...], packed: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(suffix + how for suffix in suffixes for how in ("", *packed))


class Listed(NamedTuple):
    """A source format: the module that holds its SOURCE, and what is known without importing it.

    ``title`` is its name in sentences. Files have the format by their ``suffixes``; of a folder,
    those with the suffixes ``inside`` are read. Behind both may stand how a file is ``packed``.
    ``options`` are the keys of ``[data]`` that say how its texts are read, ``place`` those that
    say where it is; all others of either kind are refused beside it.
    """

    module: str
    title: str
    suffixes: tuple[str, ...]
    inside: tuple[str, ...]
    options: frozenset[str] = frozenset()
    packed: tuple[str, ...] = ()
    place: tuple[str, ...] = ("path",)

    @property
    def endings(self) -> tuple[str, ...]:
        """How the names of files end that are read of a folder."""
        return _list_endings(self.inside, self.packed)


# name in [data] format -> what is known of it
SOURCES = {
    "csv": Listed(
        "dprelease.sources.csv.csv_source", "CSV", (".csv", ".txt", ".tsv"), (".csv",),
        frozenset(
            {"delimiter", "quote", "encoding", "null_values", "header", "names", "strip",
             "decimal", "thousands", "multiline", "max_lines_per_record"}
        ),
        (".gz", ".zst"),
    ),
    "parquet": Listed(
        "dprelease.sources.parquet.parquet_source", "Parquet", (".parquet", ".pq"), (".parquet",)
    ),
    "arrow": Listed(
        "dprelease.sources.arrow", "Arrow", (".arrow", ".feather", ".ipc"),
        (".arrow", ".feather", ".ipc"),
    ),
    "xlsx": Listed(
        "dprelease.sources.xlsx.xlsx_source", "an Excel workbook", (".xlsx",), (".xlsx",),
        frozenset({"sheet"}),
    ),
    "adbc": Listed(
        "dprelease.sources.adbc.adbc_source", "in a database", (), (),
        place=("driver", "uri_env", "table"),
    ),
    "frame": Listed("dprelease.sources.frame", "a table from Python", (), (), place=()),
}  # fmt: skip

SUFFIXES = {
    ending: name
    for name, listed in SOURCES.items()
    for ending in _list_endings(listed.suffixes, listed.packed)
}
"""The format that the suffix of a path stands for."""

# name in [data] driver, of a package adbc_driver_NAME and of our extra adbc-NAME -> its title
DRIVERS = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}
