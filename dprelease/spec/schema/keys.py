"""Keys of a section: each takes one TOML value, or says what is wrong with it.

A key stands as a class attribute in its section; what an instance gives under that name is the
value that was read, or the key's default.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, get_args, overload

from dprelease.spec.complaints.quoting import show
from dprelease.spec.toml.numbers import Refused
from dprelease.spec.toml.tree import MAX_VALUES, Path, TooMany

if TYPE_CHECKING:
    from dprelease.spec.schema.sections import Missing, Section, Unknown

T = TypeVar("T")
V = TypeVar("V")


class NotAmong(NamedTuple):
    """The value is none of ``words``; ``later`` says that it belongs to the format all the same."""

    words: tuple[str, ...]
    later: bool


class Finding(NamedTuple):
    """One thing that is wrong: where (seen from what was read), with which value, and why."""

    path: Path
    value: object
    why: Refused | NotAmong | Unknown | Missing

    def below(self, part: str | int) -> Finding:
        """The same finding seen from one level further out."""
        return self._replace(path=(part, *self.path))


class Unread(Exception):
    """A value that was not read, with every finding in it."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__()
        self.findings = findings


def too_many(number: int) -> Refused:
    """Refuse a list of so many values."""
    message = f"the list has {number} values, more than {MAX_VALUES}"
    return Refused(message, "use fewer, such as a coarser list", "E234")


def take(read: Callable[[object], T], value: object) -> T:
    """Read a value by a function that may raise ``Refused``. Raises ``Unread``."""
    try:
        if isinstance(value, TooMany):
            raise too_many(value.number)
        return read(value)
    except Refused as refused:
        raise Unread(Finding((), value, refused)) from None


def each(read: Callable[[object], T]) -> Callable[[object], tuple[T, ...]]:
    """Read a list whose elements ``read`` takes; findings name the position of the element."""

    def read_list(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise Refused(f"{show(value)} is not a list", "write the values in [ ]", "E103")
        elements: list[T] = []
        findings: list[Finding] = []
        for number, element in enumerate(value):
            try:
                elements.append(take(read, element))
            except Unread as unread:
                findings += [finding.below(number) for finding in unread.findings]
        if findings:
            raise Unread(*findings)
        return tuple(elements)

    return read_list


class Key(Generic[T]):
    """A key: ``read`` makes its value or raises ``Refused``; absent, it is ``default``.

    With a ``remedy`` the key is required: absent, it is a finding, and the remedy what to write.
    """

    @overload
    def __init__(
        self: Key[V | None], read: Callable[[object], V], *, remedy: str | None = None
    ) -> None: ...
    @overload
    def __init__(
        self, read: Callable[[object], T], default: T, *, remedy: str | None = None
    ) -> None: ...
    def __init__(
        self, read: Callable[[object], Any], default: Any = None, *, remedy: str | None = None
    ) -> None:
        self.read: Callable[[object], T] = read
        self.default = default
        self.remedy = remedy

    @overload
    def __get__(self, section: None, owner: type[Section]) -> Key[T]: ...
    @overload
    def __get__(self, section: Section, owner: type[Section]) -> T: ...
    def __get__(self, section: Section | None, owner: type[Section]) -> Key[T] | T:
        # A section that read the key holds the value itself, and Python looks there first.
        return self if section is None else self.default


class Choice(Key[T]):
    """A key that takes one of the words of ``literal``, which is a ``Literal[...]``.

    ``later`` holds words that belong to the format but not to this version.
    """

    def __init__(
        self,
        literal: object,
        default: T,
        *,
        later: Collection[str] = (),
        remedy: str | None = None,
    ) -> None:
        super().__init__(self._word, default, remedy=remedy)
        self.words: tuple[str, ...] = get_args(literal)
        self.later = later

    def _word(self, value: object) -> Any:
        if isinstance(value, str) and value in self.words:
            return value
        later = isinstance(value, str) and value in self.later
        raise Unread(Finding((), value, NotAmong(self.words, later)))
