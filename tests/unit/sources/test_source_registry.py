"""A source is a file and a line of the registry: what else knows one by its name is listed here."""

from __future__ import annotations

import ast

from product_source import FILES, get_module_name, list_nodes, parse_module, read_source

from dprelease.model import Dialect, Source
from dprelease.model.source_registry import SOURCES
from dprelease.specfile.schema.sections import DataSection

# Tables that are written are CSV or Parquet too, so these names are other words elsewhere.
WORDS_OF_OUTPUT = {"csv", "parquet", "xlsx"}
MAY_NAME_SOURCES = {
    "model/source_registry",
    "specfile/checks/data_source",  # tables in no file: a database, and what a program passes
    "engines/__init__",  # clusters can't read what a program passes
    "scaffold/new_spec",  # tables in no file
}


def list_files_with(words: set[str]) -> set[str]:
    """Files other than sources' that hold one of the words as a literal or an attribute."""
    return {
        name
        for file in FILES
        if not (name := get_module_name(file).removesuffix(".py")).startswith("sources/")
        and any(word in read_source(file) for word in words)  # few files are parsed
        for node in list_nodes(parse_module(file))
        if (isinstance(node, ast.Constant) and node.value in words)
        or (isinstance(node, ast.Attribute) and node.attr in words)
    }


def test_no_source_is_named_outside_its_file() -> None:
    assert list_files_with(SOURCES.keys() - WORDS_OF_OUTPUT) <= MAY_NAME_SOURCES


def test_no_key_of_one_format_is_named_outside_its_file() -> None:
    own = {key for form in SOURCES.values() for key in form.own}
    assert own
    assert list_files_with(own) == {"model/source_registry"}


def test_keys_of_one_format_are_no_other_keys() -> None:
    """They are keys of [data], and stand beside the source's fields in a run's identity."""
    own = [key for form in SOURCES.values() for key in form.own]
    shared = {key for form in SOURCES.values() for key in (*form.options, *form.place)}
    assert len(own) == len(set(own))
    assert set(own) <= DataSection.KEYS.keys() - shared
    assert not {*Source.__struct_fields__, *Dialect.__struct_fields__} & set(own)
