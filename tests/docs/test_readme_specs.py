"""Every spec in the README, and every piece of one, loads and can be planned."""

from decimal import Decimal
from typing import Any

import pytest
import tomli
from readme_blocks import blocks, readme
from spec_reference import BEGIN, END, replaced

import dprelease
from dprelease.errors import ExitCode
from dprelease.expressions.whitelist import ALLOWED
from dprelease.spec.checks.queries.query import MAX_CELLS
from dprelease.spec.schema import models
from dprelease.spec.schema.sections import Key, Section
from dprelease.statistics.registry import STATISTICS


def read(text: str) -> dict[str, Any]:
    return tomli.loads(text, parse_float=Decimal)


def merged(base: Any, piece: Any) -> Any:
    """A piece laid over a spec: tables key by key, queries and other values as a whole."""
    if isinstance(base, dict) and isinstance(piece, dict):
        return base | {
            key: merged(base[key], value) if key in base else value for key, value in piece.items()
        }
    return piece


@pytest.mark.parametrize("block", blocks("toml"), ids=lambda block: f"line {block.line}")
def test_every_toml_block_loads_over_the_first(block):
    spec = merged(read(blocks("toml")[0].text), read(block.text))
    period = "2026-01" if "{period}" in block.text else None
    release = dprelease.load(spec, period=period)
    assert release.warnings == ()
    assert dprelease.plan(release).epsilon > 0


def test_pieces_are_laid_over_by_this_rule():
    base = {"a": {"b": 1, "c": 2}, "query": [1]}
    assert merged(base, {"a": {"c": 3}, "query": [2]}) == {"a": {"b": 1, "c": 3}, "query": [2]}


def test_the_spec_reference_is_what_the_models_say():
    text = readme()
    assert replaced(text) == text, "run: python tests/docs/spec_reference.py"
    assert text.count(BEGIN) == text.count(END) == 1


def test_every_key_is_described_and_nothing_else():
    classes = [value for value in vars(models).values() if isinstance(value, type)]
    sections = [value for value in classes if issubclass(value, Section) and value is not Section]
    assert sorted(map(repr, models.SECTIONS)) == sorted(map(repr, sections))
    for section in models.SECTIONS:
        assert section.HEADER
        assert section.WORDS
        assert all(key.meaning for key in section.KEYS.values())
        required = {name for name, key in section.KEYS.items() if key.absent == "required"}
        assert required == set(section.REQUIRED)


def test_stated_defaults_are_those_of_the_models():
    for section in models.SECTIONS:
        for key in section.KEYS.values():
            if key.default is not None:
                assert key.absent == f'"{key.default}"'


def test_the_reference_notices_a_new_type_of_key():
    from spec_reference import kind

    with pytest.raises(KeyError):
        kind(Key(complex))


def test_everything_an_expression_may_hold_is_listed():
    text = " ".join(readme().split())
    assert ALLOWED in text.replace("> ", "")


def test_numbers_and_names_that_the_readme_states():
    text = readme()
    for code in ExitCode:
        assert f"| {int(code)} |" in text
    assert not undocumented(text)
    assert f"at most {MAX_CELLS:,} cells" in text


def undocumented(text: str) -> list[str]:
    """Statistics and columns of theirs that the tables of statistics and of columns lack."""
    return [
        name
        for name, statistic in STATISTICS.items()
        if f"| `{name}` |" not in text
        or any(f"`<query>{suffix}`" not in text for suffix in statistic.suffixes)
    ]


def test_a_new_statistic_is_missed_in_the_readme(monkeypatch):
    monkeypatch.setitem(STATISTICS, "count_twice", STATISTICS["count"])
    assert undocumented(readme()) == ["count_twice"]
