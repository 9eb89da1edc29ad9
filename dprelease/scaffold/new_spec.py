"""The beginning of a spec for a data file, of which nothing but names and types is read."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from dprelease.errors import Failure
from dprelease.files.packed import get_suffix
from dprelease.model import Database, Source
from dprelease.model.source_registry import (
    DRIVERS,
    SOURCES,
    SUFFIXES,
    Naming,
    is_variable_name,
    split_table_name,
)
from dprelease.scaffold.codebook import read_codebook
from dprelease.scaffold.file_columns import (
    Csv,
    build_unreadable_failure,
    read_csv_columns,
    read_declared_columns,
)
from dprelease.scaffold.template import NewSpec, check_path, write_spec

ENCODINGS = ("utf-8", "latin-1", "cp1252")


class InvalidOptions(ValueError):
    """Options that do not say what the spec is for; ``reason`` repeats none of them."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Options(NamedTuple):
    """Where a table is and how it is written, as the options of ``init`` say.

    A ``delimiter`` of None is that of the suffix. ``own`` are keys of ``[data]`` that one format
    alone takes. ``codebook`` is the path of one.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool = True
    skip_rows: int = 0
    driver: str | None = None
    uri_env: str | None = None
    table: str | None = None
    own: Mapping[str, str] = {}
    codebook: str | os.PathLike[str] | None = None


def init(data: str | os.PathLike[str] | None, options: Options) -> str:
    """Do what the package's ``init`` says."""
    file = None if data is None else os.fspath(data)
    return write_spec(begin_spec(file, os.getcwd(), "SPEC", options))


def begin_spec(data: str | None, folder: str, spec: str, options: Options) -> NewSpec:
    """Find out what is known of a data file, or of a table of a database.

    Args:
        data: Path of the file; None for a table of a database.
        folder: The folder where the spec will stand, to which the file's path is relative.
        spec: The name of the spec.
        options: Of the file or the database.

    Raises:
        Failure: Exit code 2, if names can't be read.
        InvalidOptions: The options don't name one place.
    """
    form = Csv(options.delimiter or "", options.encoding, options.skip_rows)
    if options.delimiter is not None and not is_delimiter(options.delimiter):
        raise InvalidOptions("a delimiter is one ASCII character, such as ';' or tab")
    if options.skip_rows < 0:
        raise InvalidOptions("skip_rows is 0 or more")
    if options.encoding not in ENCODINGS:
        raise InvalidOptions(f"encoding is {', '.join(ENCODINGS[:-1])} or {ENCODINGS[-1]}")
    new = _begin(data, folder, spec, form, options)
    if options.codebook is None:
        return new
    names = None if new.columns is None else {column.name for column in new.columns}
    return new._replace(codebook=read_codebook(os.fspath(options.codebook), names))


def _begin(data: str | None, folder: str, spec: str, form: Csv, options: Options) -> NewSpec:
    driver, uri_env, table = options.driver, options.uri_env, options.table
    if data is not None and (driver, uri_env, table) == (None, None, None):
        return _begin_file_spec(data, folder, spec, form, options)
    if data is not None or driver not in DRIVERS or uri_env is None or table is None:
        kinds = " or ".join(DRIVERS)
        message = f"name a file, or a table of a database by driver ({kinds}), uri_env and table"
        raise InvalidOptions(message)
    if form != Csv("") or not options.header or options.own:
        raise InvalidOptions("a table of a database has no options of files")
    return _begin_database_spec(driver, uri_env, table, spec)


def _begin_file_spec(data: str, folder: str, spec: str, form: Csv, options: Options) -> NewSpec:
    if "://" in data:  # a URI may hold a password, and is not said again
        hint = "name a table of a database by its driver, uri_env and table"
        raise build_unreadable_failure("a database or URI", "init reads files by their path", hint)
    suffix = get_suffix(data)
    if suffix not in SUFFIXES:
        hint = f"name a file with one of the suffixes {', '.join(SUFFIXES)}"
        raise build_unreadable_failure(data, "its suffix does not show the format", hint)
    format = SUFFIXES[suffix]
    path = os.path.relpath(os.path.abspath(data), folder).replace(os.sep, "/")
    check_path(path)
    name, place = _derive_name(os.path.basename(data)[: -len(suffix)]), {"path": path}
    listed = SOURCES[format]
    if listed.naming is None:
        raise build_unreadable_failure(data, "its format does not list them", "write the spec")
    if not listed.own.keys() >= options.own.keys():
        raise _build_option_failure(data, f"{', '.join(options.own)} is not for its format")
    if listed.naming is Naming.LINE:
        if not form.delimiter:
            form = form._replace(delimiter="\t" if suffix.startswith(".tsv") else ",")
        columns, form = read_csv_columns(data, form) if options.header else (None, form)
        return NewSpec(name, path, spec, listed.naming, columns, place, form)
    if not options.header or form != Csv(""):
        raise _build_option_failure(data, "the options for CSV are not for its format")
    source = Source(data, format, own=tuple(options.own.items()))
    columns = read_declared_columns(source)
    return NewSpec(name, path, spec, listed.naming, columns, {**place, **options.own})


def _begin_database_spec(driver: str, uri_env: str, table: str, spec: str) -> NewSpec:
    if not is_variable_name(uri_env):  # it may be a URI, and is not said again
        reason = "uri_env is not the name of an environment variable"
        hint = "put the URI in a variable, and write the name, such as SURVEY_URI"
        raise build_unreadable_failure("a table", reason, hint)
    names = split_table_name(table)
    if names is None:
        hint = 'write its name, or its schema and name as "schema.table"'
        raise build_unreadable_failure("a table", "its name is not that of a table", hint)
    database = Database(driver, uri_env, names)
    columns = read_declared_columns(Source(table, "adbc", database=database))
    place = {"format": "adbc", "driver": driver, "uri_env": uri_env, "table": table}
    return NewSpec(_derive_name(names[-1]), table, spec, Naming.CATALOGUE, columns, place)


def _build_option_failure(data: str, reason: str) -> Failure:
    return build_unreadable_failure(data, reason, "leave that option out")


def is_delimiter(text: str) -> bool:
    """Tell if a text can part the fields of a line."""
    is_printed = len(text) == 1 and " " <= text <= "~"
    return text == "\t" or (is_printed and not text.isalnum() and text != '"')


def _derive_name(text: str) -> str:
    """Derive a file-safe name of a release."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:100].strip("-_") or "release"
