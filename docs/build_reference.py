"""Parts of the reference that the code knows: the build of the site puts them into its pages.

A page in docs/reference has two marks where a part goes, and between them a note of where else a
reader finds it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import spec_reference

import dprelease
from dprelease.cli.app import app
from dprelease.comparison.compared_specs import Comparison
from dprelease.errors import CodeMeaning, read_code_groups
from dprelease.expressions import whitelist
from dprelease.local.estimation.table_estimates import TableEstimates
from dprelease.model import ColumnType
from dprelease.release.budget_status import Budget, DatasetBudget
from dprelease.release.plan import CheckedSpec, ReleasePlan
from dprelease.release.published import Combination, ReleasedTable, RenderedReport
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.statistic_registry import STATISTICS

Lines = Iterator[str]
BEGIN = "<!-- {}: begin (built by docs/build_reference.py) -->"
END = "<!-- {}: end -->"
PACKAGE = Path(__file__).parents[1] / "dprelease"


def cell(text: str) -> str:
    """Text inside a Markdown table."""
    # In code a backslash before a bar would be seen: GitHub and the site both take this.
    text = re.sub(
        r"`([^`]*\|[^`]*)`",
        lambda code: f"<code>{escape(code[1], quote=False).replace('|', '&#124;')}</code>",
        " ".join(text.split()),
    )
    return text.replace("|", "\\|")


def row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(map(cell, cells))} |"


def table(*heads: str) -> Lines:
    """The first two lines of a table."""
    yield row(*heads)
    yield "|" + "---|" * len(heads)


def marked(text: str) -> str:
    """Text of a docstring as Markdown."""
    return text.replace("``", "`")


# --- commands -------------------------------------------------------------------------------------


def all_commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command with its name and context, a group before its own commands."""
    top = click.Context(app, info_name="dprelease", **app.context_settings)
    for name in app.list_commands(top):
        command = app.get_command(top, name)
        if command is None:
            raise KeyError(name)
        context = click.Context(command, info_name=name, parent=top)
        yield name, command, context
        if isinstance(command, click.Group):
            for inner, below in command.commands.items():
                yield (
                    f"{name} {inner}",
                    below,
                    click.Context(below, info_name=inner, parent=context),
                )


def commands() -> Lines:
    """A section for each command: what it does, its options, its examples."""
    for name, command, context in all_commands():
        yield f"### {name}"
        yield ""
        yield f"`{command.get_usage(context).removeprefix('Usage: ')}`"
        yield ""
        for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
            yield from _lines(marked(paragraph))
            yield ""
        if options := [o for o in command.params if isinstance(o, click.Option)]:
            yield from table("option", "takes", "meaning")
            for option in options:
                names = ", ".join(f"`{name}`" for name in option.opts)
                yield row(names, takes(option, context), meaning(option, context))
            yield ""
        if command.epilog and name != "dprelease":
            yield "```text"
            yield inspect.cleandoc(command.epilog.replace("\b\n", ""))
            yield "```"
            yield ""


def takes(option: click.Option, context: click.Context) -> str:
    """What an option is followed by."""
    if option.is_flag:
        return "-"
    if isinstance(option.type, click.Choice):
        return " ".join(f"`{choice}`" for choice in option.type.choices)
    return f"`{option.make_metavar(context)}`"


def meaning(option: click.Option, context: click.Context) -> str:
    """What an option does, and what holds without it."""
    _, help_text = option.get_help_record(context) or ("", "")
    text = help_text.replace("[output]", "`[output]`")
    text = re.sub(r"(?:; |\[)x>=0\]", "]", text).replace(" ]", "")
    text = re.sub(r"\s*\[(default: [^\]]+)\]", r" (\1)", text)
    return re.sub(r"(?<![\w`])(--[a-z-]+|\{period\})", r"`\1`", text)


def _lines(text: str, width: int = 100) -> Lines:
    """A paragraph in lines of at most a width."""
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line


# --- codes ----------------------------------------------------------------------------------------


def codes() -> Lines:
    """Every code by what it is about: what it says, and what to do."""
    for group in read_code_groups():
        yield f"## {group.heading}"
        yield ""
        yield from _lines(group.holds)
        yield ""
        yield from table("code", "it says", "what to do")
        for code, (says, remedy) in group.codes.items():
            yield row(f"`{code}`", says.replace("{period}", "`{period}`"), remedy)
        yield ""


# --- statistics -----------------------------------------------------------------------------------


COLUMN_USES = {
    ColumnUse.NONE: "-", ColumnUse.ANY: "any", ColumnUse.NUMBERS: "with bounds",
    ColumnUse.GROUPS: "with keys or bins", ColumnUse.CHOICES: "with keys or bins",
    ColumnUse.CURVE: "with bounds, or `columns`",
}  # fmt: skip


def keys() -> Lines:
    """What each statistic takes of a query."""
    yield from table("statistic", "`column`", "also needs", "may take", "`mechanism`")
    for name, statistic in STATISTICS.items():
        asked = statistic.keys
        needs = [key.name for key in asked.needs] + ["where"] * asked.where_is_numerator
        may = [key.name for key in asked.may]
        yield row(f"`{name}`", COLUMN_USES[asked.column], *(
            " ".join(f"`{word}`" for word in words) or "-"
            for words in (needs, may, asked.mechanisms)
        ))  # fmt: skip


# --- expressions ----------------------------------------------------------------------------------

TYPES = {
    "n": ColumnType.INTEGER, "x": ColumnType.FLOAT, "s": ColumnType.STRING, "b": ColumnType.BOOLEAN,
    "d": ColumnType.DATE, "t": ColumnType.TIMESTAMP,
}  # fmt: skip
EXAMPLES = {
    "Column": "n", "Paren": "(n)", "Literal": "'text'", "Boolean": "TRUE", "Null": "NULL",
    "Neg": "-n", "Add": "n + 1", "Sub": "n - 1", "Mul": "n * 2", "Div": "n / 2", "Mod": "n % 2",
    "EQ": "s = 'a'", "NEQ": "s <> 'a'", "LT": "x < 1", "LTE": "x <= 1", "GT": "x > 1",
    "GTE": "x >= 1", "And": "b AND x > 1", "Or": "b OR x > 1", "Not": "NOT b", "Is": "x IS NULL",
    "Between": "n BETWEEN 1 AND 5", "In": "s IN ('a', 'b')", "Like": "s LIKE 'a%'",
    "Case": "CASE WHEN b THEN 1 ELSE 0 END", "Coalesce": "COALESCE(x, 0)",
    "Nullif": "NULLIF(n, 0)", "Greatest": "GREATEST(n, 0)", "Least": "LEAST(n, 10)",
    "Abs": "ABS(n)", "Floor": "FLOOR(x)", "Ceil": "CEIL(x)", "Round": "ROUND(x, 2)",
    "Lower": "LOWER(s)", "Upper": "UPPER(s)", "Trim": "TRIM(s)", "Length": "LENGTH(s)",
    "Substring": "SUBSTRING(s, 1, 3)", "Replace": "REPLACE(s, '.', '')",
    "Concat": "CONCAT(s, '-', s)", "DPipe": "s || 'a'",
    "Quarter": "QUARTER(d)", "Week": "WEEK(d)", "WeekOfYear": "WEEKOFYEAR(d)",
    "DayOfWeekIso": "ISODOW(d)", "DateFromParts": "MAKE_DATE(n, n, n)",
    "Year": "YEAR(d)", "Month": "MONTH(d)", "Day": "DAY(d)", "DayOfMonth": "DAYOFMONTH(d)",
    "Hour": "HOUR(t)", "Extract": "EXTRACT(year FROM d)",
    "DateDiff": "DATE_DIFF('day', d, DATE '2026-01-31')", "Cast": "CAST(b AS integer)",
}  # fmt: skip


def expressions() -> Lines:
    """Every piece that an expression may hold, as an example, and the type of its value."""
    by_type: dict[str, list[str]] = {}
    for shape in whitelist.SHAPES:
        text = EXAMPLES[shape]
        kind = whitelist.name_type(whitelist.read(text, TYPES).type)
        by_type.setdefault(kind, []).append(text)
    yield from table("gives", "examples")
    for kind, texts in sorted(by_type.items()):
        yield row(kind, ", ".join(f"`{text}`" for text in texts))


# --- limits ---------------------------------------------------------------------------------------

LIMITS: dict[str, dict[str, str]] = {
    "Spec file": {
        "specfile.toml.syntax:MAX_BYTES": "size of a spec",
        "specfile.toml.syntax:MAX_KEYS": "keys of a spec",
        "specfile.toml.tree:MAX_DEPTH": "levels of nested tables and lists",
        "specfile.toml.tree:MAX_VALUES": "values of a spec",
        "specfile.complaints.reporter:MOST_SHOWN": "complaints that are shown at once",
    },
    "Numbers and names": {
        "specfile.keys.number_texts:LARGEST": "size of a number; from here on it is refused",
        "specfile.keys.number_texts:MAX_EPSILON": "epsilon of a query or release",
        "specfile.keys.number_texts:MAX_BOUND": "rows or groups that one unit may count in",
        "specfile.keys.number_texts:MAX_DESIGN_EFFECT": "design effect of a survey",
        "specfile.keys.number_texts:MAX_RECORD_LINES": "lines that one record may have",
        "specfile.keys.number_texts:MAX_SELECTION_DELTA": "delta of a selection of private keys",
        "specfile.keys.fields:MAX_QUANTILES": "quantiles of one query",
        "specfile.checks.columns.domains:LONGEST_KEY": "characters of a public key",
        "specfile.keys.fields:LONGEST_LABEL": "characters of a title, label or unit",
        "specfile.checks.columns.grids:LARGEST_STEPS": "steps from 0 to a bound of a column",
        "specfile.checks.queries.query_context:MOST_WEIGHT_STEPS": "steps from 0 to `upper` of a "
        "survey weight",
        "specfile.checks.queries.query_context:LARGEST_SQUARED": "steps from 0 to a bound "
        "where squares are summed",
    },
    "Queries": {
        "specfile.checks.queries.groups:MAX_CELLS": "cells of a table: all combinations of its "
        "groups",
        "specfile.checks.queries.several_tables:MAX_TABLES": "tables of a query",
        "specfile.checks.queries.several_tables:MAX_ALL_CELLS": "cells of a query's tables "
        "together",
        "specfile.keys.fields:MAX_WAYS": "columns of a table that `ways` can say",
        "local.estimation.table_estimates:MOST_CELLS": "cells of a cross table of "
        "`dprelease estimate --cross`",
    },
    "Expressions": {
        "expressions.grammar:MAX_LENGTH": "characters of an expression",
        "expressions.grammar:MAX_DEPTH": "levels of nesting",
        "expressions.grammar:MAX_NODES": "pieces of an expression",
        "expressions.growth:MOST_PIECES": "weighted pieces of text that all expressions of a spec "
        "may join",
        "expressions.growth:LONGEST_JOINED": "bytes of a joined text; a longer one is null",
        "expressions.growth:MOST_OPERATIONS": "weighted operations on one record",
    },
    "Data": {
        "sources.shared.first_lines:LINE_LIMIT": "size of a line of CSV; a longer one is a record "
        "of nulls",
        "sources.shared.files:CELL_LIMIT": "size of a text in Parquet; a longer one is null",
        "sources.shared.key_normalization:LONGEST_KEY": "characters of a private key; a longer "
        "one is cut",
        "expressions.normal_form:LONGEST_TEXT": "characters of a text that is read in normal form; "
        "a longer one is read as it stands",
        "engines.duckdb.duckdb_session:LEAST_MEMORY": "bytes that `DPRELEASE_MEMORY` must allow, "
        "at least",
        "engines.duckdb.duckdb_session:MOST_THREADS": "threads that read data",
    },
    "Output": {
        "output.publish:LONGEST_NAME": "bytes of a file's name",
        "output.publish:LONGEST_PATH": "bytes of the output's path",
        "cli.show_command:MOST_ROWS": "rows of a table that `dprelease show` shows by itself",
    },
}
LIMIT = re.compile(r"^((?:MAX|MOST|LONGEST|LARGEST|LEAST)_?[A-Z_]*|[A-Z]+_LIMIT)(?:: \w+)? = ")
# Where each limit is one that a user can meet, so that it is in the table.
MET = ("specfile", "expressions", "sources/shared", "output/publish.py")
# Those that are no limit of what a user writes: hints, sizes inside, or the same as another.
INSIDE = {
    "sources.shared.kept_parts:MOST_KEPT",
    "specfile.checks.columns.grids:LEAST_STEPS",
    "specfile.checks.columns.list_files:MOST_LOOKS",  # said in words on the page of columns
}


def limits_of_the_code() -> set[str]:
    """Limits in the modules where users meet them, as ``module:NAME``."""
    names = set()
    for part in MET:
        place = PACKAGE / part
        for file in [place] if place.is_file() else place.rglob("*.py"):
            module = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
            for line in file.read_text(encoding="utf-8").splitlines():
                if match := LIMIT.match(line):
                    names.add(f"{module}:{match[1]}")
    return names


def limits() -> Lines:
    """The limits, with the figures that the code has."""
    listed = {name for group in LIMITS.values() for name in group}
    if missing := limits_of_the_code() - listed - INSIDE:
        raise KeyError(f"limits that the page doesn't tell: {sorted(missing)}")
    for heading, group in LIMITS.items():
        yield f"## {heading}"
        yield ""
        yield from table("limit", "of what")
        for place, words in group.items():
            module, name = place.split(":")
            value = getattr(import_module(f"dprelease.{module}"), name)
            yield row(figure(value), words)
        yield ""


def figure(value: Any) -> str:
    """A number as people read it."""
    if isinstance(value, int) and value % (1 << 20) == 0 and value:
        return f"{value >> 20:,} MiB" if value < 1 << 30 else f"{value:,}"
    return f"{value:,}" if isinstance(value, int) else str(value)


# --- Python ---------------------------------------------------------------------------------------


# function -> the classes of what it gives
GIVEN: dict[str, tuple[type, ...]] = {
    "check": (CheckedSpec,),
    "plan": (ReleasePlan,),
    "explain": (CodeMeaning,),
    "diff": (Comparison,),
    "budget": (Budget, DatasetBudget),
    "show": (ReleasedTable,),
    "report": (RenderedReport,),
    "combine": (Combination,),
    "estimate": (TableEstimates,),
}


def python() -> Lines:
    """Every public name: how it is called, and what it says of itself."""
    order = [
        "init",
        "load",
        "check",
        "plan",
        "rehearse",
        "run",
        "Result",
        "Stage",
        "explain",
        "diff",
        "budget",
        "show",
        "report",
        "combine",
        "estimate",
        "Failure",
        "Complaint",
        "Place",
        "ExitCode",
    ]
    beside = {one.__name__ for given in GIVEN.values() for one in given}
    names = {*dprelease.__all__} - {"__version__", "Release"} - beside
    for name in sorted(names, key=order.index):
        thing = getattr(dprelease, name)
        yield f"### {name}"
        yield ""
        if isinstance(thing, type) and issubclass(thing, IntEnum):
            yield from description(thing)
            yield from table("name", "value")
            for member in thing:
                yield row(f"`{member.name}`", f"`{member.value}`")
            yield ""
            continue
        yield "```text"
        yield from signature(name, thing)
        yield "```"
        yield ""
        yield from description(thing)
        for one in GIVEN.get(name, ()):
            yield from _lines(f"`{one.__name__}`: {marked(inspect.getdoc(one) or '')}")
            yield ""
        for one in GIVEN.get(name, (thing,)):
            yield from members(one)


def description(thing: Any) -> Lines:
    """The docstring of a thing, as paragraphs."""
    for paragraph in (inspect.getdoc(thing) or "").split("\n\n"):
        yield from _lines(marked(paragraph))
        yield ""


def signature(name: str, thing: Callable[..., Any]) -> Lines:
    """A call, with one line for each argument."""
    call = inspect.signature(thing)
    yield f"{name}("
    star, annotations = False, inspect.get_annotations(thing)
    for parameter in call.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            star = True
            yield "    *,"
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        # As the source has it: classes of values resolve their annotations, named tuples wrap them.
        annotation = annotations.get(parameter.name, parameter.annotation)
        written = getattr(annotation, "__forward_arg__", annotation)
        yield f"    {parameter.name}: {written}{default},"
    result = call.return_annotation
    yield ")" if isinstance(thing, type) else f") -> {result}"


def members(thing: Any) -> Lines:
    """Methods and properties of a class that say something of themselves."""
    rows = []
    for name, member in vars(thing).items():
        text = inspect.getdoc(member)
        if not name.startswith("_") and text and not isinstance(member, (str, int, tuple)):
            called = inspect.isfunction(member)
            if called or isinstance(member, property) or hasattr(member, "attrname"):
                rows.append(row(f"`{name}{'()' if called else ''}`", marked(text)))
    if rows:
        yield from table(f"of a `{thing.__name__}`", "what it gives")
        yield from rows
        yield ""


# --- pages ----------------------------------------------------------------------------------------

# page of docs/reference -> its parts by name
PARTS: dict[str, dict[str, Callable[[], Lines]]] = {
    "spec.md": {"spec": spec_reference.lines},
    "statistics.md": {"keys of statistics": keys},
    "columns.md": {"expressions": expressions},
    "commands.md": {"commands": commands},
    "codes.md": {"codes": codes},
    "limits.md": {"limits": limits},
    "python.md": {"names": python},
}


def fill(name: str, text: str) -> str:
    """Put the parts into the text of a page. ValueError when a mark is missing."""
    for part, write in PARTS[name].items():
        begin, end = BEGIN.format(part), END.format(part)
        before, rest = text.split(begin)
        _, after = rest.split(end)
        body = "\n".join(write()).rstrip("\n")
        text = f"{before}{begin}\n\n{body}\n\n{end}{after}"
    return text
