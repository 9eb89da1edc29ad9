"""The text of a new spec: what is known filled in, all else marked and left to be written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dprelease.files.packed import strip_packing
from dprelease.model.source_registry import Naming
from dprelease.scaffold.codebook import Codebook, write_column
from dprelease.scaffold.file_columns import Csv, Named, build_unreadable_failure
from dprelease.scaffold.toml_text import quote, write_key

MARK = "FILL IN"
TYPES = "integer, float, decimal, string, boolean, date or timestamp"
_UNSPEAKABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_HEAD = """\
# The beginning of a spec for {subject}
# Read of the data: {read}.
#
# {mark} stands at {marks} places. At each, take the # off the lines that you need (other lines
# may stay), and complete them. Then `dprelease check {spec}`
# says what is missing, `dprelease plan` shows noise and cost, and `dprelease rehearse` the release
# on made-up records. They open no data, so all of it can be agreed on before anybody looks.
#
# Bounds, keys and the budget come from rules and from common knowledge, never from the data.

schema = 1

[release]
name = {name}
# title = ""
# curator = ""           # who holds the data and publishes
# purpose = ""

[data]
"""

_PRIVACY = """\
# snapshot = "2026-01"   # names the version of the data; a new one is charged anew

[privacy]
# {mark} 1: what one protected thing is. A row:
# unit = "row"
# or a person, all rows with one value of a column:
# unit = "column"
# unit_column = ""
# unit_description = ""  # in words, such as "one visit" or "one patient with all visits"

# {mark} 2: add-remove protects whether a unit is in the table; replace-one what its rows say
# adjacency = "add-remove"

# {mark} 3: the privacy loss of this release, such as 1.0; less protects more
# epsilon =

# With unit = "column": how much of one person counts in a table
# [privacy.bounding]
# max_rows_per_unit =
# max_groups_per_unit =

[ledger]
dataset = {name}
# All releases of the same data name the same dataset and the same ledger
# {mark} 4: the most that may ever be spent on the dataset
# epsilon_cap =
"""

_QUERIES = """\
# {mark} 6: what is published; repeat for each statistic
# [[query]]
# name = ""              # of the published column
# statistic = ""         # such as count, mean, sum, median or histogram
# by = []                # columns above that have keys or bins; without it one figure over all
# column = ""            # of a mean, sum or median: what is added up or put in order
# One with statistic = "quality" and a small epsilon of its own says how well keys, formats and
# bounds fit the data: `dprelease run --quality-first SPEC` pays for the rest only if they do

[output]
path = {output}
"""


class NewSpec(NamedTuple):
    """What a new spec is about; ``columns`` None: the file has no header, and was not opened.

    ``place`` are the keys of ``[data]`` that say where the table is; ``subject`` names it.
    """

    name: str
    subject: str
    spec: str
    naming: Naming
    columns: Sequence[Named] | None
    place: Mapping[str, str]
    written: Csv = Csv()
    codebook: Codebook = Codebook("", {})


READ = {
    Naming.LINE: "the first line, for the names of its columns",
    Naming.ROW: "the first row of the sheet, for the names of its columns",
    Naming.SCHEMA: "the schema, for the names and types of its columns",
    Naming.CATALOGUE: "the catalogue of the database, for the names and types of its columns",
}


def check_path(path: str) -> None:
    """Refuse a path that no spec can hold as it is.

    Args:
        path: Path of the data, relative to the spec.

    Raises:
        Failure: Exit code 2.
    """
    why = ""
    if "{period}" in path:
        why = "its path holds {period}, which a spec fills in"
    elif _UNSPEAKABLE.search(path):
        why = "its path holds a character that no spec can hold"
    if why:
        path_text = _format(path)
        raise build_unreadable_failure(
            path_text, why, "rename it, or begin with a copy under another name"
        )


def write_spec(new_spec: NewSpec) -> str:
    """Write the text of a new spec.

    Args:
        new_spec: What is known of the data.

    Returns:
        Valid TOML. It is a sound spec when its marked places are filled in.
    """
    fields = {"name": quote(new_spec.name), "mark": MARK, "output": quote(f"out/{new_spec.name}")}
    read = "nothing" if new_spec.columns is None else READ[new_spec.naming]
    # Without a header, the names of the columns are to be filled in as well.
    marks = 7 if new_spec.columns is None else 6
    head = _HEAD.format(
        subject=_format(new_spec.subject), read=read, spec=_format(new_spec.spec), marks=marks,
        **fields,
    )  # fmt: skip
    parts = [
        head,
        *_iter_data_lines(new_spec),
        _PRIVACY.format(**fields),
        "\n",
        *_iter_column_lines(new_spec.columns, new_spec.codebook),
    ]
    return "".join((*parts, _QUERIES.format(**fields)))


def _format(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _iter_data_lines(new_spec: NewSpec) -> Iterator[str]:
    yield from (f"{key} = {quote(value)}\n" for key, value in new_spec.place.items())
    if new_spec.naming is not Naming.LINE:
        return
    if new_spec.columns is None:
        yield f"header = false\n# {MARK} 7: the names of the columns, all in order\n# names = []\n"
    tabs = strip_packing(new_spec.subject).lower().endswith(".tsv")
    if new_spec.written.delimiter != ("\t" if tabs else ","):
        yield f"delimiter = {quote(new_spec.written.delimiter)}\n"
    if new_spec.written.skip_rows:
        yield f"skip_rows = {new_spec.written.skip_rows}\n"
    if new_spec.written.encoding != "utf-8":
        yield f"encoding = {quote(new_spec.written.encoding)}\n"
    else:
        yield '# encoding = "latin-1"   # or cp1252: how older programs write letters such as ü\n'
    yield '# null_values = ["", "n/a"]  # texts that stand for a missing value; else "" alone\n'
    yield '# strip = true           # take spaces and tabs around fields off: "a " is else no "a"\n'
    yield '# decimal = ","          # numbers such as 1234,5; with thousands = "." also 1.234,5\n'
    yield "# multiline = true       # texts between quotes hold line breaks; without it a line\n"
    yield "#                        # is a record: each line of such a text is read as one\n"


def _iter_column_lines(columns: Sequence[Named] | None, codebook: Codebook) -> Iterator[str]:
    yield f"# {MARK} 5: what is publicly known of the columns that are needed; nothing is guessed\n"
    yield f"# type = one of {TYPES}\n"
    yield "# boolean reads yes, y, true, t, 1, no, n, false, f, 0; other words are a string's\n"
    yield '# format = "%d.%m.%Y", of dates and timestamps whose texts are not in ISO form\n'
    yield "# lower = and upper =, of what is added up or put in order\n"
    yield "# keys = [...], of what is grouped by: the public list of its values; or bins = [...]\n"
    yield '# other = "other", the group of all other values; without it they are in none\n'
    yield '# source = "public: ...", the rule that bounds or keys come from\n'
    if columns is None:
        columns = [*map(Named, codebook.columns), Named("NAME")]
    for column in columns:
        if not column.name:
            continue  # it is not read
        if column.name in codebook.columns and not column.unread:
            known = codebook.columns[column.name]
            declared = {} if column.type is None else {"type": column.type}
            if column.zone is not None and known.get("type", column.type) == column.type:
                declared["zone"] = column.zone
            yield write_column(column.name, declared, known, codebook.title)
            continue
        yield f"\n# [columns.{write_key(column.name)}]\n"
        if column.unread:
            yield f"# can't be used: {column.unread}\n"
            continue
        yield f"# type = {quote(column.type) if column.type else ''}".rstrip() + "\n"
        if column.zone is not None:
            yield f"# zone = {quote(column.zone)}\n"
        yield '# source = "public: "\n'
    yield "\n"
