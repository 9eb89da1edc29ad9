"""The reference says what the code says: its built parts leave nothing out."""

import ast
import re

import build_reference
import click
import pytest
from build_reference import BEGIN, END, PARTS, all_commands
from doc_pages import DOCS, page

from dprelease.errors import read_code_groups
from dprelease.model import source_registry
from dprelease.report_format import REPORT_FORMATS
from dprelease.statistics.statistic_registry import STATISTICS


@pytest.mark.parametrize("name", PARTS)
def test_what_the_code_knows_is_built_and_not_kept(name):
    kept, built = (DOCS / "reference" / name).read_text(), page(f"reference/{name}").text
    for part in PARTS[name]:
        begin, end = BEGIN.format(part), END.format(part)
        assert kept.count(begin) == built.count(begin) == kept.count(end) == built.count(end) == 1
        note = kept.partition(begin)[2].partition(end)[0]
        assert note.startswith("\n\n_`python docs/build_site.py` builds this part from the code")
        assert len(note.split("\n")) <= 6
    assert "builds this part" not in built


def test_every_code_has_something_to_do():
    text = page("reference/codes.md").text
    listed = [
        (code, remedy) for group in read_code_groups() for code, (_, remedy) in group.codes.items()
    ]
    assert len(listed) > 150
    assert all(text.count(f"| `{code}` |") == 1 and remedy for code, remedy in listed)


def test_every_command_and_option_is_told():
    text = page("reference/commands.md").text
    names = [name for name, _, _ in all_commands()]
    assert {"run", "check", "budget verify"} <= set(names)
    for name, command, _ in all_commands():
        section = text.split(f"\n### {name}\n")[1].partition("\n### ")[0]
        for option in command.params:
            if isinstance(option, click.Option):
                assert all(f"`{spelling}`" in section for spelling in option.opts)


def test_every_key_of_a_statistic_is_told():
    text = page("reference/statistics.md").text
    for name, statistic in STATISTICS.items():
        (line,) = [line for line in text.splitlines() if line.startswith(f"| `{name}` | ")
                   and line.count(" | ") == 4]  # fmt: skip
        needs, may = line.split(" | ")[2:4]
        assert all(f"`{key.name}`" in needs for key in statistic.keys.needs)
        assert all(f"`{key.name}`" in may for key in statistic.keys.may)


def variables_of_the_code():
    """Names of the variables that the package looks up in the environment."""
    names = set()
    for file in build_reference.PACKAGE.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if "environ" not in source and "getenv" not in source:
            continue
        tree = ast.parse(source)
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "os.environ.get", "os.getenv", "os.environ.pop", "environ.get"
            ):  # fmt: skip
                first = node.args[0]
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
                first = node.slice
            else:
                continue
            if ast.unparse(first) in ("database.uri_env", "self.variable"):
                continue  # the spec names it
            names.add(constants[first.id] if isinstance(first, ast.Name) else first.value)
    return names


def rows(text, heading):
    """The cells of the table below a heading, or below the top of a page."""
    section = text.partition(heading)[2]
    table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)[0].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in table]


def test_every_variable_that_the_code_reads_is_told():
    told = rows(page("reference/commands.md").text, "\n## Environment variables\n")
    assert sorted(name.strip("`") for name, _ in told) == sorted(variables_of_the_code())


def test_every_suffix_of_data_is_told():
    told = {}
    for words, form in rows(page("reference/data.md").text, "# Data formats\n"):
        plain, _, packed = words.partition("at the end")[0].partition(", also with ")
        endings = re.findall(r"`(\.\w+)`", packed)
        for suffix in re.findall(r"`(\.\w+)`", plain):
            told |= {suffix + ending: form.strip('`"') for ending in ("", *endings)}
    assert told == source_registry.SUFFIXES


def test_every_format_of_reports_is_told():
    told = rows(page("reference/output.md").text, "\n## Formats of the report\n")
    assert [row[:3] for row in told] == [
        [f'`"{name}"`', f"`{form.file}`", f"`{form.media_type}`"]
        for name, form in REPORT_FORMATS.items()
        if not form.of_tables
    ]
    told = rows(page("reference/output.md").text, "\n## A workbook and a long table\n")
    assert [row[1:3] for row in told] == [
        [f"`{form.file}`", f"`{form.media_type}`"]
        for form in REPORT_FORMATS.values()
        if form.of_tables
    ]


def test_every_column_of_a_statistic_is_told():
    for column, _, of in rows(page("reference/output.md").text, "\n## Columns of a table\n"):
        suffix = column.strip("`").removeprefix("<query>")
        having = {name for name in STATISTICS if suffix in STATISTICS[name].suffixes}
        named = set(re.findall(r"`(\w+)`", of))
        assert having == (set(STATISTICS) - named if of.startswith("all") else named), column


def test_a_limit_that_the_page_does_not_tell_is_missed(monkeypatch):
    limits = build_reference.LIMITS["Spec file"]
    fewer = {name: limits[name] for name in limits if name != "specfile.toml.syntax:MAX_BYTES"}
    monkeypatch.setitem(build_reference.LIMITS, "Spec file", fewer)
    with pytest.raises(KeyError, match=r"specfile\.toml\.syntax:MAX_BYTES"):
        list(build_reference.limits())


def test_a_new_piece_of_an_expression_is_missed(monkeypatch):
    shapes = build_reference.whitelist.SHAPES
    monkeypatch.setitem(shapes, "Sqrt", shapes["Abs"])
    with pytest.raises(KeyError, match="Sqrt"):
        list(build_reference.expressions())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (200, "200"),
        (1 << 20, "1 MiB"),
        (4 << 20, "4 MiB"),
        (10**18, f"{10**18:,}"),
        (2**31, "2,147,483,648"),
    ],
)
def test_numbers_are_written_for_people(value, text):
    assert build_reference.figure(value) == text
