"""Every spec in the documentation, and every piece of one, loads and can be planned."""

import re
from decimal import Decimal
from typing import Any

import pytest
import tomli
from doc_pages import FIRST, PAGES, Page, page

import dprelease
from dprelease.errors import ExitCode
from dprelease.expressions.whitelist import ALLOWED
from dprelease.specfile.checks.queries.groups import MAX_CELLS
from dprelease.specfile.keys.section_reader import Section
from dprelease.specfile.schema import sections
from dprelease.statistics.statistic_registry import STATISTICS, list_own_keys


def read(text: str) -> dict[str, Any]:
    return tomli.loads(text, parse_float=Decimal)


def merged(base: Any, piece: Any) -> Any:
    """A piece laid over a spec: tables key by key, queries and other values as a whole."""
    if isinstance(base, dict) and isinstance(piece, dict):
        return base | {
            key: merged(base[key], value) if key in base else value for key, value in piece.items()
        }
    return piece


def specs(page: Page) -> list[tuple[str, dict[str, Any]]]:
    """Every spec of a page: a whole one as it stands, a piece over the last whole one before it.

    Where a page has none before it, the piece is laid over the spec of the first tutorial.
    """
    base = read(FIRST.blocks("toml")[0].text)
    found = []
    for block in page.blocks("toml"):
        piece = read(block.text)
        base, spec = (piece, piece) if "schema" in piece else (base, merged(base, piece))
        found.append((f"{page.name}:{block.line}", spec))
    return found


SPECS = dict(spec for page in PAGES for spec in specs(page))


@pytest.mark.parametrize("place", SPECS)
def test_every_toml_block_loads_and_can_be_planned(place):
    spec = SPECS[place]
    period = "2026-01" if "{period}" in spec["data"]["path"] else None
    release = dprelease.load(spec, period=period)
    assert release.warnings == ()
    assert dprelease.plan(release).epsilon > 0


def test_pieces_are_laid_over_by_this_rule():
    base = {"a": {"b": 1, "c": 2}, "query": [1]}
    assert merged(base, {"a": {"c": 3}, "query": [2]}) == {"a": {"b": 1, "c": 3}, "query": [2]}


def test_every_key_is_described_and_nothing_else():
    classes = [value for value in vars(sections).values() if isinstance(value, type)]
    declared = [value for value in classes if issubclass(value, Section) and value is not Section]
    assert sorted(map(repr, sections.SECTIONS)) == sorted(map(repr, declared))
    for section in sections.SECTIONS:
        assert section.HEADER
        assert section.WORDS
        assert all(key.meaning for key in section.KEYS.values())
        required = {name for name, key in section.KEYS.items() if key.absent == "required"}
        assert required == set(section.REQUIRED)


def test_the_words_of_sections_name_keys_that_are_there():
    keys = {key for section in sections.SECTIONS for key in section.KEYS}
    known = {*keys, *list_own_keys(), *STATISTICS, "noise_moe"}  # the last is a published column
    for section in sections.SECTIONS:
        words = [section.WORDS, *(f"{key.meaning} {key.absent}" for key in section.KEYS.values())]
        named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", " ".join(words)))
        assert named - known == set()


def test_stated_defaults_are_those_of_the_sections():
    for section in sections.SECTIONS:
        for key in section.KEYS.values():
            if key.default is not None:
                assert key.absent == f'"{key.default}"'


def test_everything_an_expression_may_hold_is_listed():
    text = " ".join(page("reference/columns.md").text.split())
    assert ALLOWED in text.replace("> ", "")


def statistics_text() -> str:
    return page("reference/statistics.md").text + page("reference/output.md").text


def test_numbers_and_names_that_the_reference_states():
    for code in ExitCode:
        assert f"| {int(code)} |" in page("reference/commands.md").text
    assert not undocumented(statistics_text())
    assert f"at most {MAX_CELLS:,} cells" in page("reference/columns.md").text


def undocumented(text: str) -> list[str]:
    """Statistics and columns of theirs that the tables of statistics and of columns lack."""
    return [
        name
        for name, statistic in STATISTICS.items()
        if f"| `{name}` |" not in text
        or any(f"`<query>{suffix}`" not in text for suffix in statistic.suffixes)
    ]


def test_a_new_statistic_is_missed_in_the_reference(monkeypatch):
    text = statistics_text()
    monkeypatch.setitem(STATISTICS, "count_twice", STATISTICS["count"])
    assert undocumented(text) == ["count_twice"]
