"""One code, one thing: the list of codes against every module of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

import pytest
from product_source import FILES, PACKAGE, nodes, parsed, source_of
from unit.complaint_codes import CODE_TABLE as OTHERS
from unit.complaint_codes import SPEC_CODES as OF_SPECS
from unit.complaint_codes import Code

CODE = re.compile(r"[EW][0-9]{3}")
TABLE = (*OTHERS, *(Code(code, "spec", meaning) for code, meaning in OF_SPECS))

# Codes that the published format of specs names; they keep these meanings.
PUBLISHED = {
    "E001": ("spec", "not valid TOML"),
    "E101": ("spec", "unknown statistic"),
    "E102": ("spec", "unknown key or section"),
    "E110": ("spec", "required key or section is missing"),
    "E201": ("spec", "needs the column's bounds"),
    "E202": ("spec", "no public keys"),
    "E301": ("ledger.messages", "over the cap"),
}

RANGES = {
    "E0": ("spec", "cli", "output.released_tables", "scaffold"),
    "E1": ("spec",),
    "E2": ("spec",),
    "E3": ("ledger", "planning", "release.saved_plan"),
    "E4": ("engines",),
    "E5": ("engines", "cli.run", "release.single_draw", "release.run"),
    "E6": ("ledger", "release.payload", "local.store"),
    "E7": ("cli.guard", "kernel.certify"),
    "E8": (
        "output",
        "report.rerender",
        "cli.report",
        "cli.estimate",
        "local",
    ),
    "W2": ("spec",),
    "W3": ("report",),
    "W8": ("output.released_tables",),
}


def sources() -> dict[str, str]:
    """Every module by its dotted name below the package."""
    return {
        ".".join(file.relative_to(PACKAGE).with_suffix("").parts): source_of(file) for file in FILES
    }


def codes_of(source: str) -> Iterator[str]:
    """Codes that stand in the source by themselves, as texts."""
    for node in nodes(parsed(source)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and CODE.fullmatch(node.value)
        ):
            yield node.value


def below(module: str, owner: str) -> bool:
    return module == owner or module.startswith(f"{owner}.")


def misused(modules: Mapping[str, str]) -> set[str]:
    """Codes that no list has, and those that are made where they are not at home."""
    homes = {each.code: each.made_by for each in TABLE}
    found = set()
    for module, source in modules.items():
        for code in set(codes_of(source)):
            if code not in homes:
                found.add(f"{module}: {code} is in no list")
            elif not below(module, homes[code]):
                found.add(f"{module}: {code} is made by {homes[code]}")
    return found


def test_no_code_stands_for_two_things() -> None:
    codes = [each.code for each in TABLE]
    assert len(set(codes)) == len(codes)
    assert all(CODE.fullmatch(code) for code in codes)
    meanings = [each.meaning for each in TABLE]
    assert len(set(meanings)) == len(meanings)
    assert all(meanings)


def test_every_code_is_made_where_it_is_at_home() -> None:
    assert misused(sources()) == set()


def test_every_code_of_the_lists_is_made_somewhere() -> None:
    made = {code for source in sources().values() for code in codes_of(source)}
    assert {each.code for each in TABLE} - made == set()


def test_every_layer_has_its_own_numbers() -> None:
    for each in TABLE:
        assert any(below(each.made_by, layer) for layer in RANGES[each.code[:2]]), each


def test_homes_are_modules() -> None:
    modules = sources()
    for each in TABLE:
        assert any(below(module, each.made_by) for module in modules), each


@pytest.mark.parametrize("code", PUBLISHED)
def test_the_codes_of_the_published_format_keep_their_meaning(code: str) -> None:
    (found,) = [each for each in TABLE if each.code == code]
    home, words = PUBLISHED[code]
    assert found.made_by == home
    assert words in found.meaning


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("writers.late", 'Complaint("E501", x)', "writers.late: E501 is made by engines"),
        ("engines.late", "code = 'E801'", "engines.late: E801 is made by output.publish"),
        ("report.late", 'f("W999")', "report.late: W999 is in no list"),
    ],
)
def test_a_misused_code_is_found(module: str, source: str, complaint: str) -> None:
    assert misused({module: source}) == {complaint}


def test_a_code_within_a_text_makes_nothing() -> None:
    assert misused({"report.late": '"""E999 is not used, nor E501."""'}) == set()
