"""One code, one thing: the list of codes against every module of the package."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import pytest
from product_source import FILES, PACKAGE, nodes, parsed, source_of

from dprelease.cli.explain_command import list_groups

CODE = re.compile(r"[EW][0-9]{3}")
LIST = {code: said for group in list_groups() for code, said in group.codes.items()}

# Codes that the published format of specs names; they keep these meanings.
PUBLISHED = {
    "E001": "not valid TOML",
    "E101": "unknown statistic",
    "E102": "unknown key or section",
    "E110": "required key or section is missing",
    "E201": "needs the column's bounds",
    "E202": "no public keys",
    "E301": "over the cap",
}

# The layers that make codes which begin so.
SPEC = ("specfile", "local.perturb_section", "local.record_table_checks")
RANGES = {
    "E0": ("specfile", "cli", "release.published", "output.released_tables", "scaffold"),
    "E1": SPEC,
    "E2": SPEC,
    "E3": (
        "ledger",
        "planning",
        "local.record_table_plan",
        "release.saved_plan",
        "release.payload",
    ),
    "E4": ("engines", "sources"),
    "E5": ("engines", "sources", "cli.run_command", "ledger.single_draw", "release.run"),
    "E6": ("ledger", "release.payload", "local.store.table_store"),
    "E7": ("cli.guard", "kernel.core.certify"),
    "E8": (
        "output",
        "release.rehearse",
        "release.quality_first",
        "reports.rerender",
        "combination",
        "reports.previous",
        "release.published",
        "reports.renderers.pdf_page",
        "cli.report_command",
        "local",
    ),
    "W2": ("specfile", "local.record_table_checks"),
    "W3": ("reports",),
    "W6": ("ledger",),
    "W8": ("output.released_tables",),
}
# Many modules of these find the same thing; elsewhere a code is made in one module.
SHARED = (
    SPEC,
    ("engines", "sources"),
)


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
    """Codes that the list has not, and those that are made where they are not at home."""
    makers: dict[str, set[str]] = defaultdict(set)
    for module, source in modules.items():
        for code in codes_of(source):
            makers[code].add(module)
    complaints = set()
    for code, homes in makers.items():
        if code not in LIST:
            complaints |= {f"{home}: {code} is not in the list" for home in homes}
            continue
        layers = RANGES[code[:2]]
        complaints |= {
            f"{home}: {code} is made by {', '.join(layers)}"
            for home in homes
            if not any(below(home, layer) for layer in layers)
        }
        shared = any(
            all(any(below(home, room) for room in rooms) for home in homes) for rooms in SHARED
        )
        if len(homes) > 1 and not shared:
            complaints.add(f"{code} is made in several modules: {', '.join(sorted(homes))}")
    return complaints


def test_no_code_stands_for_two_things() -> None:
    listed = [code for group in list_groups() for code in group.codes]
    assert len(set(listed)) == len(listed)
    assert all(CODE.fullmatch(code) for code in listed)
    meanings = [says for says, _ in LIST.values()]
    assert len(set(meanings)) == len(meanings)
    assert all(says and remedy for says, remedy in LIST.values())


def test_codes_stand_in_order_within_their_group() -> None:
    for group in list_groups():
        assert list(group.codes) == sorted(group.codes)
        assert group.heading
        assert group.holds


def test_every_code_is_made_where_it_is_at_home() -> None:
    assert misused(sources()) == set()


def test_every_code_of_the_list_is_made_somewhere() -> None:
    made = {code for source in sources().values() for code in codes_of(source)}
    assert set(LIST) - made == set()


@pytest.mark.parametrize("code", PUBLISHED)
def test_the_codes_of_the_published_format_keep_their_meaning(code: str) -> None:
    assert PUBLISHED[code] in LIST[code][0]


@pytest.mark.parametrize(
    ("modules", "complaint"),
    [
        (
            {"writers.late": 'Complaint("E401", x)'},
            "writers.late: E401 is made by engines, sources",
        ),
        (
            {"engines.late": "code = 'E102'"},
            f"engines.late: E102 is made by {', '.join(SPEC)}",
        ),
        ({"report.late": 'f("W999")'}, "report.late: W999 is not in the list"),
        (
            {"release.run": "'E598'", "ledger.single_draw": "'E598'"},
            "E598 is made in several modules: ledger.single_draw, release.run",
        ),
        (
            {"release.run": "'E501'", "engines.late": "'E501'"},
            "E501 is made in several modules: engines.late, release.run",
        ),
    ],
)
def test_a_misused_code_is_found(modules: dict[str, str], complaint: str) -> None:
    assert misused(modules) == {complaint}


def test_codes_that_many_checks_find_may_be_made_in_each() -> None:
    assert misused({"specfile.checks.a": "'E216'", "specfile.checks.b": "'E216'"}) == set()


def test_a_code_within_a_text_makes_nothing() -> None:
    assert misused({"report.late": '"""E999 is not used, nor E501."""'}) == set()
