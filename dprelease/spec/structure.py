"""Takes the tree apart into sections; what doesn't fit becomes complaints, the rest goes on.

A value that was refused is left out of its section, and its key is noted as bad, so that the
checks of meaning still run over everything else and say nothing about what is already refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from pydantic import ValidationError

from dprelease.spec.didyoumean import nearest
from dprelease.spec.models import (
    ColumnSection,
    DataSection,
    LedgerSection,
    OutputSection,
    PrivacySection,
    QuerySection,
    ReleaseSection,
    ReportSection,
    Section,
    SectionType,
)
from dprelease.spec.reporter import MOST_SHOWN, Reporter
from dprelease.spec.tree import Path, dotted
from dprelease.spec.wording import listed, show

NOT_YET = "not available in this version"
_SECTIONS = (
    "release", "data", "privacy", "ledger", "columns", "query", "output", "report",
)  # fmt: skip
_LATER_SECTIONS = frozenset({"perturb", "postprocess"})


@dataclass(frozen=True, slots=True)
class Part(Generic[SectionType]):
    """A section as far as it could be read.

    ``bad`` holds the keys that were refused; ``unsure`` says that a key was misspelt or missing,
    so that what seems absent may only be misspelt.
    """

    path: Path
    model: SectionType
    bad: frozenset[str] = frozenset()
    unsure: bool = False

    def sound(self, *keys: str) -> bool:
        """Say whether none of the keys was refused, nor may have been misspelt."""
        return not self.unsure and self.bad.isdisjoint(keys)


@dataclass(frozen=True, slots=True)
class Parts:
    """All sections of a spec, as far as they could be read."""

    release: Part[ReleaseSection]
    data: Part[DataSection]
    privacy: Part[PrivacySection]
    ledger: Part[LedgerSection]
    output: Part[OutputSection]
    report: Part[ReportSection]
    columns: Mapping[str, Part[ColumnSection]] = field(default_factory=dict)
    queries: tuple[Part[QuerySection], ...] = ()


def take_apart(tree: Mapping[str, object], reporter: Reporter) -> Parts:
    """Split a tree into its sections, and complain of everything that doesn't fit."""
    _check_top(tree, reporter)
    return Parts(
        _section(ReleaseSection, tree, "release", reporter),
        _section(DataSection, tree, "data", reporter),
        _section(PrivacySection, tree, "privacy", reporter),
        _section(LedgerSection, tree, "ledger", reporter),
        _section(OutputSection, tree, "output", reporter),
        _section(ReportSection, tree, "report", reporter),
        _columns(tree.get("columns"), reporter),
        _queries(tree, reporter),
    )


def _check_top(tree: Mapping[str, object], reporter: Reporter) -> None:
    version = tree.get("schema", 1)
    if isinstance(version, bool) or version != 1:
        message = f"this version reads schema 1, not {show(version)}"
        reporter.complain("E109", message, ("schema",), "write schema = 1")
    for key in tree:
        if key in _LATER_SECTIONS:
            reporter.complain("E104", f"[[{key}]] is {NOT_YET}", (key,), "leave it out", "key")
        elif key not in (*_SECTIONS, "schema"):
            hint = _suggest(key, _SECTIONS, reporter)
            reporter.complain("E102", f"unknown section {show(key)}", (key,), hint, "key")


def _section(
    model: type[SectionType], tree: Mapping[str, object], name: str, reporter: Reporter
) -> Part[SectionType]:
    content = tree.get(name)
    if content is None and model.REQUIRED:
        needs = ", ".join(model.REQUIRED)
        message = f"the spec has no [{name}]"
        reporter.complain("E110", message, (name,), f"add it; it needs {needs}", "key")
        return Part((name,), model(), frozenset(model.model_fields), unsure=True)
    return _read(model, content if content is not None else {}, (name,), reporter)


def _columns(content: object, reporter: Reporter) -> dict[str, Part[ColumnSection]]:
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        hint = "write one [columns.NAME] for each column"
        reporter.complain("E103", "columns is not a table", ("columns",), hint)
        return {}
    return {
        name: _read(ColumnSection, each, ("columns", name), reporter)
        for name, each in content.items()
    }


def _queries(tree: Mapping[str, object], reporter: Reporter) -> tuple[Part[QuerySection], ...]:
    content = tree.get("query")
    hint = "add at least one [[query]]; it needs name and statistic"
    if content is None or content == []:
        reporter.complain("E110", "the spec has no [[query]]", ("query",), hint, "key")
        return ()
    if not isinstance(content, list):
        hint = "write [[query]] with two brackets: there can be several"
        reporter.complain("E103", "query is not a list of tables", ("query",), hint, "key")
        return ()
    return tuple(
        _read(QuerySection, each, ("query", number), reporter)
        for number, each in enumerate(content)
    )


def _read(
    model: type[SectionType], content: object, path: Path, reporter: Reporter
) -> Part[SectionType]:
    if not isinstance(content, Mapping):
        hint = f"write [{dotted(path)}] and its keys below it"
        message = f"{dotted(path)} is {show(content)}, not a table"
        reporter.complain("E103", message, path, hint)
        return Part(path, model(), frozenset(model.model_fields), unsure=True)
    bad: set[str] = set()
    try:
        read = model.model_validate(dict(content))
    except ValidationError as error:
        for finding in error.errors(include_url=False):
            key = str(finding["loc"][0])
            if key not in bad:
                bad.add(key)
                _explain(_Finding(model, (*path, key), content[key], dict(finding)), reporter)
        read = model.model_validate({k: v for k, v in content.items() if k not in bad})
    missing = [key for key in model.REQUIRED if key not in content]
    for key in missing:
        message = f"{_header(path)} has no `{key}`"
        reporter.complain("E110", message, path, model.REQUIRED[key], "key")
    unknown = bool(bad - set(model.model_fields)) or bool(missing)
    return Part(path, read, frozenset(bad) | frozenset(missing), unsure=unknown)


@dataclass(frozen=True, slots=True)
class _Finding:
    """One key whose value the model refused, and pydantic's account of it."""

    model: type[Section]
    path: Path
    value: object
    account: Mapping[str, Any]


def _explain(finding: _Finding, reporter: Reporter) -> None:
    model, path, value = finding.model, finding.path, finding.value
    key, kind = str(path[-1]), finding.account["type"]
    if kind == "extra_forbidden" and key in model.LATER:
        reporter.complain("E104", f"`{key}` is {NOT_YET}", path, "leave it out", "key")
    elif kind == "extra_forbidden":
        hint = _suggest(key, model.model_fields, reporter)
        message = f"unknown key {show(key)} in {_header(path[:-1])}"
        reporter.complain("E102", message, path, hint, "key")
    elif kind == "refused":
        said = finding.account["ctx"]
        reporter.complain(said["code"], said["message"], path, said["hint"])
    elif isinstance(value, str) and value in model.LATER_VALUES.get(key, ()):
        message = f"{key} = {show(value)} is {NOT_YET}"
        reporter.complain("E104", message, path, f"use {listed(choices_of(model, key))}")
    else:
        known = choices_of(model, key)
        close = nearest(value, known) if isinstance(value, str) else None
        hint = f'did you mean "{close}"?' if close else f"use {listed(known)}"
        reporter.complain("E105", f"{show(value)} is no {key}", path, hint)


def choices_of(model: type[Section], key: str) -> tuple[str, ...]:
    """Give the values that a key with a fixed list of choices may have."""
    annotation = model.model_fields[key].annotation
    found: list[str] = []
    stack: list[Any] = [annotation]
    while stack:
        for each in getattr(stack.pop(), "__args__", ()):
            if isinstance(each, str):
                found.append(each)
            else:
                stack.append(each)
    return tuple(found)


def _header(path: Path) -> str:
    return "[[query]]" if path[0] == "query" else f"[{dotted(path)}]"


def _suggest(key: str, known: Iterable[str], reporter: Reporter) -> str:
    # Beyond what is shown a guess would only cost time.
    close = None if len(reporter.complaints) >= MOST_SHOWN else nearest(key, known)
    return f'"{close}"' if close else f"known here: {', '.join(known)}"
