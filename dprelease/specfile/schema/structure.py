"""Takes the tree apart into sections; what doesn't fit becomes complaints, the rest goes on.

A value that was refused is left out of its section, and its key is noted as bad, so that the
checks of meaning still run over everything else and say nothing about what is already refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dprelease.local.perturb_section import PerturbSection
from dprelease.specfile.complaints.complaint_wording import find_nearest, show
from dprelease.specfile.complaints.places import Path, format_path
from dprelease.specfile.complaints.reporter import MOST_SHOWN, Refused, Reporter
from dprelease.specfile.keys.section_reader import (
    NOT_YET,
    Finding,
    Missing,
    Part,
    Section,
    SectionType,
    Unknown,
)
from dprelease.specfile.schema.sections import (
    BoundingSection,
    ColumnSection,
    DataSection,
    LedgerSection,
    OutputSection,
    PostprocessSection,
    PrivacySection,
    QuerySection,
    ReleaseSection,
    ReportSection,
    ReviewSection,
)

_SECTIONS: Mapping[str, type[Section]] = {
    "release": ReleaseSection,
    "data": DataSection,
    "privacy": PrivacySection,
    "ledger": LedgerSection,
    "columns": ColumnSection,
    "query": QuerySection,
    "postprocess": PostprocessSection,
    "perturb": PerturbSection,
    "output": OutputSection,
    "report": ReportSection,
    "review": ReviewSection,
}
_LATER_SECTIONS = frozenset({"derived"})


class Parts(NamedTuple):
    """All sections of a spec, as far as they could be read."""

    release: Part[ReleaseSection]
    data: Part[DataSection]
    privacy: Part[PrivacySection]
    ledger: Part[LedgerSection]
    output: Part[OutputSection]
    report: Part[ReportSection]
    review: Part[ReviewSection]
    columns: Mapping[str, Part[ColumnSection]]
    queries: tuple[Part[QuerySection], ...]
    postprocess: Part[PostprocessSection]
    perturbs: tuple[Part[PerturbSection], ...]
    perturbs_only: bool  # there is surely no query


def read_sections(tree: Mapping[str, object], reporter: Reporter) -> Parts:
    """Split a tree into its sections, and complain of everything that doesn't fit."""
    _check_top(tree, reporter)
    return Parts(
        _read_section(ReleaseSection, tree, "release", reporter),
        _read_section(DataSection, tree, "data", reporter),
        _read_section(PrivacySection, tree, "privacy", reporter),
        _read_section(LedgerSection, tree, "ledger", reporter),
        _read_section(OutputSection, tree, "output", reporter),
        _read_section(ReportSection, tree, "report", reporter),
        _read_section(ReviewSection, tree, "review", reporter),
        _read_columns(tree.get("columns"), reporter),
        _read_queries(tree, reporter),
        _read_section(PostprocessSection, tree, "postprocess", reporter),
        _read_tables(PerturbSection, tree, "perturb", reporter),
        _has(tree, "perturb") and not _has(tree, "query"),
    )


def _check_top(tree: Mapping[str, object], reporter: Reporter) -> None:
    version = tree.get("schema", 1)
    if isinstance(version, bool) or version != 1:
        message = f"this version supports schema 1, not {show(version)}"
        reporter.complain("E109", message, ("schema",))
    for key in tree:
        if key in _LATER_SECTIONS:
            reporter.complain("E104", f"[[{key}]] is {NOT_YET}", (key,), at="key")
        elif key not in (*_SECTIONS, "schema"):
            hint = _suggest(key, _SECTIONS, reporter)
            reporter.complain("E102", f"unknown section {show(key)}", (key,), hint, "key")


def _read_section(
    model: type[SectionType], tree: Mapping[str, object], name: str, reporter: Reporter
) -> Part[SectionType]:
    content = tree.get(name)
    if content is None and model.REQUIRED:
        needs = ", ".join(model.REQUIRED)
        message = f"the spec has no [{name}]"
        reporter.complain("E110", message, (name,), f"add it; it needs {needs}", "key")
        return Part((name,), model(), reporter, frozenset(model.KEYS), unsure=True)
    return _read(model, content if content is not None else {}, (name,), reporter)


def _read_columns(content: object, reporter: Reporter) -> dict[str, Part[ColumnSection]]:
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        hint = "write one [columns.NAME] for each column"
        reporter.complain("E103", "columns is not a table", ("columns",), hint)
        return {}
    return {
        name: _read(ColumnSection, column, ("columns", name), reporter)
        for name, column in content.items()
    }


def _read_queries(tree: Mapping[str, object], reporter: Reporter) -> tuple[Part[QuerySection], ...]:
    if not _has(tree, "query") and not _has(tree, "perturb"):
        hint = (
            "add at least one [[query]]; it needs name and statistic. Or add a [[perturb]], which "
            "makes a record-level table"
        )
        reporter.complain("E110", "the spec has no [[query]]", ("query",), hint, "key")
    return _read_tables(QuerySection, tree, "query", reporter)


def _has(tree: Mapping[str, object], name: str) -> bool:
    return tree.get(name) is not None and tree[name] != []


def _read_tables(
    model: type[SectionType], tree: Mapping[str, object], name: str, reporter: Reporter
) -> tuple[Part[SectionType], ...]:
    """Read an array of tables; there may be none."""
    content = tree.get(name)
    if content is None:
        return ()
    if not isinstance(content, list):
        hint = f"write [[{name}]] with two brackets, because there can be several"
        reporter.complain("E103", f"{name} is not a list of tables", (name,), hint, "key")
        return ()
    return tuple(
        _read(model, table, (name, number), reporter) for number, table in enumerate(content)
    )


def _read(
    model: type[SectionType], content: object, path: Path, reporter: Reporter
) -> Part[SectionType]:
    if not isinstance(content, Mapping):
        hint = f"write [{format_path(path)}] and its keys below it"
        message = f"{format_path(path)} is {show(content)}, not a table"
        reporter.complain("E103", message, path, hint)
        return Part(path, model(), reporter, frozenset(model.KEYS), unsure=True)
    section, findings = model.read(content)
    for finding in findings:
        _explain(finding, path, reporter)
    bad = frozenset(str(finding.path[0]) for finding in findings)
    # A misspelling within a nested table is no other key of this section.
    own = (finding.why for finding in findings if len(finding.path) == 1)
    unsure = any(isinstance(why, Unknown | Missing) for why in own)
    return Part(path, section, reporter, bad, unsure)


def _explain(finding: Finding, section: Path, reporter: Reporter) -> None:
    path = (*section, *finding.path)
    key, why = str(path[-1]), finding.why
    match why:
        case Refused():
            reporter.refuse(why, path)
        case Missing(remedy):
            message = f"{_write_header(path[:-1])} has no `{key}`"
            reporter.complain("E110", message, path[:-1], remedy, "key")
        case Unknown(owner):
            hint = _name_owners(key, owner.KEYS) or _suggest(key, owner.KEYS, reporter)
            message = f"unknown key {show(key)} in {_write_header(path[:-1])}"
            reporter.complain("E102", message, path, hint, "key")


def _write_header(path: Path) -> str:
    """Write the header of a table as the spec would: in a list of tables it has no number."""
    names = format_path(tuple(part for part in path if isinstance(part, str)))
    return f"[[{names}]]" if isinstance(path[-1], int) else f"[{names}]"


def _name_owners(key: str, words: Iterable[str]) -> str:
    """Name the sections that have a key, and the keys here; "" if no section has it."""
    sections: Sequence[type[Section]] = (*_SECTIONS.values(), BoundingSection)
    headers = " or ".join(section.HEADER for section in sections if key in section.KEYS)
    return f"it is a key of {headers}; here {_list_known(words)}" if headers else ""


def _suggest(key: str, words: Iterable[str], reporter: Reporter) -> str:
    # Beyond what is shown a guess would only cost time.
    close = None if len(reporter.complaints) >= MOST_SHOWN else find_nearest(key, words)
    return f'"{close}"' if close else _list_known(words)


def _list_known(words: Iterable[str]) -> str:
    return f"the known keys are: {', '.join(words)}"
