"""One code, one thing: the list of codes against every module of the package."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import pytest
from product_source import FILES, PACKAGE, list_nodes, parse_source, read_source
from thorough import for_each

from dprelease import errors
from dprelease.errors import Complaint, ExitCode, Failure, read_code_groups

CODE = re.compile(r"[EW][0-9]{3}")
LIST = {code: said for group in read_code_groups() for code, said in group.codes.items()}

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
        "reports.renderers.tables_workbook",
        "cli.report_command",
        "local",
    ),
    "W2": ("specfile", "local.record_table_checks"),
    "W3": ("reports",),
    "W4": ("sources",),
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
        ".".join(file.relative_to(PACKAGE).with_suffix("").parts): read_source(file)
        for file in FILES
    }


def codes_of(source: str) -> Iterator[str]:
    """Codes that stand in the source by themselves, as texts."""
    for node in list_nodes(parse_source(source)):
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
    listed = [code for group in read_code_groups() for code in group.codes]
    assert len(set(listed)) == len(listed)
    assert all(CODE.fullmatch(code) for code in listed)
    meanings = [says for says, _ in LIST.values()]
    assert len(set(meanings)) == len(meanings)
    assert all(says and remedy for says, remedy in LIST.values())


def test_a_remedy_reads_as_a_hint() -> None:
    assert [code for code, (_, remedy) in LIST.items() if remedy[:1].isupper()] == []
    assert [code for code, (_, remedy) in LIST.items() if remedy.endswith(".")] == []


def test_a_complaint_says_what_its_code_advises_unless_it_knows_better() -> None:
    remedy = "declare `lower` and `upper` from a public rule, never from the data"
    assert LIST["E201"][1].startswith(f"{remedy}: [")
    assert Complaint("E201", "it lacks bounds").hint == remedy  # without the page it names
    assert str(Complaint("E201", "it lacks bounds")) == f"E201 it lacks bounds   hint: {remedy}"
    assert Complaint("E201", "it lacks bounds", "ask the registry").hint == "ask the registry"


@for_each("code", LIST)
def test_a_hint_has_no_links(code: str) -> None:
    hint = Complaint(code, "it fails").hint
    assert hint
    assert "](" not in hint


def test_codes_are_read_only_where_a_complaint_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    read = errors.read_code_groups
    calls = []
    monkeypatch.setattr(errors, "read_code_groups", lambda: calls.append(1) or read())
    failure = Failure(ExitCode.SPEC, Complaint("E110", "it lacks a key"))
    assert not calls
    assert "hint: add it" in str(failure)
    assert calls


def test_a_complaint_is_shown_where_no_file_can_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(errors, "read_code_groups", refuse)
    hint = "see `dprelease explain E110`"
    assert str(Complaint("E110", "it lacks a key")) == f"E110 it lacks a key   hint: {hint}"


def repeated(modules: Mapping[str, str]) -> set[str]:
    """Places whose own hint is what their code says anyway."""
    found = set()
    for module, source in modules.items():
        for node in list_nodes(parse_source(source)):
            if isinstance(node, ast.Call):
                given = [*node.args, *(word.value for word in node.keywords)]
                texts = {each.value for each in given if isinstance(each, ast.Constant)}
                found |= {
                    f"{module}: {code}" for code in texts & set(LIST) if LIST[code][1] in texts
                }
    return found


def test_no_place_repeats_the_remedy_of_its_code() -> None:
    assert repeated(sources()) == set()
    assert repeated({"late": 'Complaint("E110", x, "add it")'}) == {"late: E110"}
    assert repeated({"late": 'part.complain("E110", x, hint="add it")'}) == {"late: E110"}


def test_codes_stand_in_order_within_their_group() -> None:
    for group in read_code_groups():
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
