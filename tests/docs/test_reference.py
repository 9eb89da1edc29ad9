"""The reference says what the code says: its built parts leave nothing out."""

import build_reference
import click
import pytest
from build_reference import BEGIN, END, PARTS, all_commands
from doc_pages import DOCS, page

from dprelease.cli.explain import groups


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
    known = build_reference.VARIABLES  # in the order of the page
    fewer = {name: known[name] for name in known if name != "DPRELEASE_MEMORY"}
    monkeypatch.setattr(build_reference, "VARIABLES", fewer)
    with pytest.raises(ValueError, match="DPRELEASE_MEMORY"):
        list(build_reference.variables())
    monkeypatch.setattr(build_reference, "VARIABLES", {**known, "DPRELEASE_NOTHING": "nothing"})
    with pytest.raises(KeyError, match="DPRELEASE_NOTHING"):
        list(build_reference.variables())


def test_a_limit_that_the_page_does_not_tell_is_missed(monkeypatch):
    limits = build_reference.LIMITS["Spec file"]
    fewer = {name: limits[name] for name in limits if name != "spec.toml.syntax:MAX_BYTES"}
    monkeypatch.setitem(build_reference.LIMITS, "Spec file", fewer)
    with pytest.raises(KeyError, match=r"spec\.toml\.syntax:MAX_BYTES"):
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
