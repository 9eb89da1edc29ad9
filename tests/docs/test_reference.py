"""The reference says what the code says: its generated parts are current and leave nothing out."""

import click
import pytest
import reference
from doc_pages import page
from reference import BEGIN, END, PARTS, all_commands, replaced

from dprelease.cli.explain import groups


@pytest.mark.parametrize("name", PARTS)
def test_the_page_is_what_the_code_says(name):
    text = page(f"reference/{name}").text
    assert replaced(name) == text, "run: python tests/docs/reference.py"
    for part in PARTS[name]:
        assert text.count(BEGIN.format(part)) == text.count(END.format(part)) == 1


def test_every_code_has_something_to_do():
    text = page("reference/codes.md").text
    listed = [(code, remedy) for group in groups() for code, (_, remedy) in group.codes.items()]
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


def test_a_variable_that_the_page_does_not_tell_is_missed(monkeypatch):
    known = reference.VARIABLES  # in the order of the page, which an item put back would change
    fewer = {name: known[name] for name in known if name != "DPRELEASE_MEMORY"}
    monkeypatch.setattr(reference, "VARIABLES", fewer)
    with pytest.raises(ValueError, match="DPRELEASE_MEMORY"):
        list(reference.variables())
    monkeypatch.setattr(reference, "VARIABLES", {**known, "DPRELEASE_NOTHING": "nothing"})
    with pytest.raises(KeyError, match="DPRELEASE_NOTHING"):
        list(reference.variables())


def test_a_limit_that_the_page_does_not_tell_is_missed(monkeypatch):
    limits = reference.LIMITS["Spec file"]
    fewer = {name: limits[name] for name in limits if name != "spec.toml.syntax:MAX_BYTES"}
    monkeypatch.setitem(reference.LIMITS, "Spec file", fewer)
    with pytest.raises(KeyError, match=r"spec\.toml\.syntax:MAX_BYTES"):
        list(reference.limits())


def test_a_new_piece_of_an_expression_is_missed(monkeypatch):
    shapes = reference.whitelist.SHAPES
    monkeypatch.setitem(shapes, "Sqrt", shapes["Abs"])
    with pytest.raises(KeyError, match="Sqrt"):
        list(reference.expressions())


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
    assert reference.figure(value) == text
