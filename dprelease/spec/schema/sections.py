"""Sections of the spec: their keys, and how a table of the tree becomes one.

Strict: a key that the section doesn't have is a finding, and a value is what its key reads or it
is left out. Nothing changes after reading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, TypeVar

from dprelease.spec.complaints.quoting import show
from dprelease.spec.schema.keys import Finding, Key, Unread, take
from dprelease.spec.toml.numbers import Refused


class Unknown(NamedTuple):
    """The section doesn't have the key."""

    section: type[Section]


class Missing(NamedTuple):
    """A key that the section requires is absent; ``remedy`` says what to write."""

    remedy: str


class Section:
    """A table of the spec. Its keys are the class attributes of type ``Key``, gathered in ``KEYS``.

    ``REQUIRED`` holds the remedies of those that must not be missing, ``LATER`` the names of keys
    that belong to the format but not to this version.
    """

    KEYS: ClassVar[Mapping[str, Key[Any]]] = {}
    REQUIRED: ClassVar[Mapping[str, str]] = {}
    LATER: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls.KEYS = {name: key for name, key in vars(cls).items() if isinstance(key, Key)}
        cls.REQUIRED = {name: key.remedy for name, key in cls.KEYS.items() if key.remedy}

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} can't be changed")

    @classmethod
    def read(cls, content: Mapping[str, object]) -> tuple[Self, list[Finding]]:
        """Read a table: the section without what could not be read, and a finding for each.

        Values that were not read come first, in the order of the section's keys; then unknown
        keys, in the order of the table; then missing ones.
        """
        section = cls()
        findings: list[Finding] = []
        for name, key in cls.KEYS.items():
            if name not in content:
                continue
            try:
                section.__dict__[name] = take(key.read, content[name])
            except Unread as unread:
                findings += [finding.below(name) for finding in unread.findings]
        findings += [
            Finding((name,), value, Unknown(cls))
            for name, value in content.items()
            if name not in cls.KEYS
        ]
        findings += [
            Finding((name,), None, Missing(remedy))
            for name, remedy in cls.REQUIRED.items()
            if name not in content
        ]
        return section, findings


SectionType = TypeVar("SectionType", bound=Section)


def nested(section: type[SectionType]) -> Callable[[object], SectionType]:
    """Read a table within a section; one with a finding in it counts as not read."""

    def read_table(value: object) -> SectionType:
        if not isinstance(value, Mapping):
            raise Refused(f"{show(value)} is not a table", "write its keys in { }", "E103")
        content, findings = section.read(value)
        if findings:
            raise Unread(*findings)
        return content

    return read_table
