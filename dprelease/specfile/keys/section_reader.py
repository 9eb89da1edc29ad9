"""Reads the sections of a spec: their keys, and how a table of the tree becomes one.

A key stands as a class attribute in its section; what an instance gives under that name is the
value that was read, or the key's default. Strict: a key that the section doesn't have is a finding,
and a value is what its key reads or it is left out. Nothing changes after reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import (
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    NoReturn,
    Self,
    TypeVar,
    get_args,
    overload,
)

from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.complaints.places import Path
from dprelease.specfile.complaints.reporter import Refused, Reporter, Spot, build_word_refusal
from dprelease.specfile.toml.tree import MAX_VALUES, TooMany
from dprelease.statistics.shared.spec_keys import OwnKey

NOT_YET = "not available in this version"
T = TypeVar("T")
Reader = TypeVar("Reader", bound=Callable[[Any], object])
Fragment = dict[str, Any]
V = TypeVar("V")


class Takes(NamedTuple):
    """What a reading function takes: in words for the reference, and as a part of JSON Schema."""

    words: str
    schema: Fragment


TAKES: dict[Callable[[Any], object], Takes] = {}
"""What each reading function takes that a key has."""


def takes(words: str, schema: Fragment) -> Callable[[Reader], Reader]:
    """State what a reading function takes. Dates are texts to JSON Schema, and pass for values."""

    def note(read: Reader) -> Reader:
        TAKES[read] = Takes(words, schema)
        return read

    return note


class Finding(NamedTuple):
    """One thing that is wrong: where (seen from what was read), and why."""

    path: Path
    why: Refused | Unknown | Missing

    def move_below(self, part: str | int) -> Finding:
        """Prefix the path with a part: the same finding seen from one level further out."""
        return self._replace(path=(part, *self.path))


class Unread(Exception):
    """A value that was not read, with every finding in it."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__()
        self.findings = findings


def build_count_refusal(number: int) -> Refused:
    """Refuse a list of so many values."""
    message = f"the list has {number} values, more than {MAX_VALUES}"
    return Refused(message, "use fewer, such as a coarser list", "E234")


def take(read: Callable[[object], T], value: object) -> T:
    """Read a value by a function that may raise ``Refused``. Raises ``Unread``."""
    try:
        if isinstance(value, TooMany):
            raise build_count_refusal(value.number)
        return read(value)
    except Refused as refused:
        raise Unread(Finding((), refused)) from None


def read_each(parts: Iterable[tuple[str | int, object]], read: Callable[[object], T]) -> list[T]:
    """Read every value; findings name its position or key. Raises ``Unread``."""
    values: list[T] = []
    findings: list[Finding] = []
    # Go on after a finding: all mistakes of a list are reported together.
    for part, value in parts:
        try:
            values.append(take(read, value))
        except Unread as unread:
            findings += [finding.move_below(part) for finding in unread.findings]
    if findings:
        raise Unread(*findings)
    return values


def build_list_reader(read: Callable[[object], T]) -> Callable[[object], tuple[T, ...]]:
    """Read a list whose elements ``read`` takes; findings name the position of the element."""

    def read_list(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise Refused(f"{show(value)} is not a list", "write the values in [ ]", "E103")
        return tuple(read_each(enumerate(value), read))

    return read_list


class Key(Generic[T]):
    """A key: ``read`` makes its value or raises ``Refused``; absent, it is ``default``.

    ``meaning`` says what it means, ``absent`` what holds where it is left out. With a ``remedy``
    the key is required: absent, it is a finding, and the remedy what to write.
    """

    read: Callable[[object], T]
    default: T

    def __init__(
        self: Key[V | None],
        read: Callable[[object], V],
        meaning: str = "",
        absent: str = "-",
        *,
        remedy: str | None = None,
    ) -> None:
        self.read, self.default = read, None
        self.meaning = meaning
        self.absent = "required" if remedy else absent
        self.remedy = remedy

    @overload
    def __get__(self, section: None, owner: type[Section]) -> Key[T]: ...
    @overload
    def __get__(self, section: Section, owner: type[Section]) -> T: ...
    def __get__(self, section: Section | None, owner: type[Section]) -> Key[T] | T:
        # A section that read the key holds the value itself, and Python looks there first.
        return self if section is None else self.default


class Choice(Key[T]):
    """A key that takes one of the words of a ``Literal[...]``, or of the names of a registry."""

    def __init__(
        self,
        words: object,
        default: T,
        meaning: str = "",
        absent: str = "-",
        *,
        remedy: str | None = None,
    ) -> None:
        self.read, self.default, self.meaning, self.remedy = self._word, default, meaning, remedy
        self.absent = "required" if remedy else absent if default is None else f'"{default}"'
        self._words = words

    @property
    def words(self) -> tuple[str, ...]:
        """What may be written."""
        return tuple(self._words) if isinstance(self._words, Mapping) else get_args(self._words)

    def __set_name__(self, owner: type[Section], name: str) -> None:
        self._name = name

    def _word(self, value: object) -> Any:
        if isinstance(value, str) and value in self.words:
            return value
        raise build_word_refusal(value, self._name, self.words)


class Unknown(NamedTuple):
    """The section doesn't have the key."""

    section: type[Section]


class Missing(NamedTuple):
    """A key that the section requires is absent; ``remedy`` says what to write."""

    remedy: str


class Section:
    """A table of the spec. Its keys are the class attributes of type ``Key``, gathered in ``KEYS``.

    ``HEADER`` is how it is written, ``WORDS`` what it is for (``python -OO`` has no docstrings).
    ``REQUIRED`` holds the remedies of keys that must not be missing.
    """

    HEADER: ClassVar[str]
    WORDS: ClassVar[str] = ""
    KEYS: ClassVar[Mapping[str, Key[Any]]] = {}
    REQUIRED: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, header: str = "") -> None:
        cls.HEADER = header
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
        # Read on after a finding: checks of the section still run on the keys that were read.
        section = cls()
        findings: list[Finding] = []
        for name, key in cls.KEYS.items():
            if name not in content:
                continue
            try:
                section.__dict__[name] = take(key.read, content[name])
            except Unread as unread:
                findings += [finding.move_below(name) for finding in unread.findings]
        findings += [Finding((name,), Unknown(cls)) for name in content if name not in cls.KEYS]
        findings += [
            Finding((name,), Missing(remedy))
            for name, remedy in cls.REQUIRED.items()
            if name not in content
        ]
        return section, findings


SectionType = TypeVar("SectionType", bound=Section)


def name_section(section: type[Section]) -> str:
    """Name a section in the JSON Schema."""
    return section.__name__.removesuffix("Section").lower()


def build_schema_ref(section: type[Section]) -> Fragment:
    """Refer to a section in the JSON Schema."""
    return {"$ref": f"#/$defs/{name_section(section)}"}


def build_table_reader(section: type[SectionType]) -> Callable[[object], SectionType]:
    """Read a table within a section; one with a finding in it counts as not read."""

    @takes("table, see below", build_schema_ref(section))
    def read_table(value: object) -> SectionType:
        if not isinstance(value, Mapping):
            raise Refused(f"{show(value)} is not a table", "write its keys in { }", "E103")
        content, findings = section.read(value)
        if findings:
            raise Unread(*findings)
        return content

    return read_table


class Part(NamedTuple, Generic[SectionType]):
    """A section as far as it could be read, and where complaints about it go.

    ``bad`` holds the keys that were refused; ``unsure`` says that a key was misspelt or missing,
    so that what seems absent may only be misspelt.
    """

    path: Path
    model: SectionType
    reporter: Reporter
    bad: frozenset[str] = frozenset()
    unsure: bool = False

    def is_sound(self, *keys: str) -> bool:
        """Say whether none of the keys was refused, nor may have been misspelt."""
        return not self.unsure and self.bad.isdisjoint(keys)

    def list_given(self, *keys: str) -> list[str]:
        """List those of the keys that have a value."""
        return [key for key in keys if getattr(self.model, key) is not None]

    def value(self, key: OwnKey[T]) -> T | None:
        """Give the value of a key of a query that only some statistics take; None if absent."""
        value: T | None = getattr(self.model, key.name)
        return value

    def complain(
        self, code: str, message: str, *keys: str | int, hint: str = "", at: Spot = "value"
    ) -> None:
        """Note a mistake at a key of the section, or at the section."""
        self.reporter.complain(code, message, (*self.path, *keys), hint, at)

    def warn(
        self, code: str, message: str, *keys: str | int, hint: str = "", at: Spot = "value"
    ) -> None:
        """Note something that works but deserves a second look."""
        self.reporter.warn(code, message, (*self.path, *keys), hint, at)

    def attempt(self, read: Callable[[], T], *keys: str | int) -> T | None:
        """Give what ``read`` gives; where it raises ``Refused``, complain and give None."""
        try:
            return read()
        except Refused as refused:
            self.reporter.refuse(refused, (*self.path, *keys))
            return None
