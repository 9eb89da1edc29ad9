"""What the tool says when it stops: complaints with a place and a remedy, and exit codes.

Nothing here ever holds a value from the data: messages are built from the spec, the command line
and fixed sentences only.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import NamedTuple


class ExitCode(IntEnum):
    """Exit codes of the command line, fixed by the documentation."""

    DONE = 0
    FINDINGS = 1
    SPEC = 2
    BUDGET = 3
    DATA = 4
    AFTER_CHARGE = 5
    LEDGER = 6
    INTERNAL = 70


class Place(NamedTuple):
    """Where in a spec something stands; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class CodeGroup(NamedTuple):
    """Codes of one kind: a heading, what holds for all, and each code with meaning and remedy."""

    heading: str
    holds: str
    codes: dict[str, tuple[str, str]]


@cache
def read_code_groups() -> tuple[CodeGroup, ...]:
    """Read every group of codes, in order. The texts are Markdown, for ``docs/reference``."""
    import tomllib  # here: most commands show no complaint
    from pathlib import Path

    text = Path(__file__).with_name("codes.toml").read_text("utf-8")
    return tuple(
        CodeGroup(
            group["heading"],
            group["holds"],
            {code: (meaning, remedy) for code, (meaning, remedy) in group["codes"].items()},
        )
        for group in tomllib.loads(text)["group"]
    )


class CodeMeaning(NamedTuple):
    """What a code means: in general, not of one complaint.

    Attributes:
        code: The code, such as "E201".
        says: What is wrong, or deserves a second look.
        remedy: What to do.
        group: What codes of its kind are about.
        holds: What holds for all of these, such as whether anything was charged.
    """

    code: str
    says: str
    remedy: str
    group: str
    holds: str


def explain_code(code: str) -> CodeMeaning | None:
    """Explain a code, in upper or lower case; None if there is none such."""
    import re  # here: most commands explain nothing

    def write_place(link: re.Match[str]) -> str:
        place = link[2].removeprefix("../")
        return f"{link[1]} (docs/{place if place != link[2] else f'reference/{place}'})"

    for group in read_code_groups():
        if code.upper() in group.codes:
            says, remedy = group.codes[code.upper()]
            plain = re.sub(r"\[([^]]*)\]\(([^)]*)\)", write_place, remedy)
            return CodeMeaning(code.upper(), says, plain, group.heading, group.holds)
    return None


def find_remedy(code: str) -> str:
    """Find what to do about a code, without the page that its remedy names."""
    import re

    try:
        groups = read_code_groups()
    except OSError:  # no file can be opened: the message must be shown all the same
        return f"see `dprelease explain {code}`"
    remedies = [group.codes[code][1] for group in groups if code in group.codes]
    remedy = re.sub(r": \[[^]]*\]\([^)]*\)$", "", remedies[0] if remedies else "")
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", remedy)


class Complaint(NamedTuple):
    """One finding: where, what, and what to do.

    ``key`` is the dotted key path in the spec (``query[2].epsilon``). ``code`` is a stable number:
    E0xx syntax, E1xx structure, E2xx meaning, E3xx budget, E4xx data, E5xx after the charge, E6xx
    ledger, E7xx interruptions and bugs, E8xx output, W... warnings. ``own_hint`` says what to do
    in this case; without it, ``hint`` says what to do about every case of the code.
    """

    code: str
    message: str
    own_hint: str = ""
    place: Place | None = None
    key: str = ""

    @property
    def hint(self) -> str:
        """What to do."""
        return self.own_hint or find_remedy(self.code)

    @property
    def head(self) -> str:
        """The complaint without its hint."""
        where = f"{self.place}  " if self.place else ""
        key = f" [{self.key}]" if self.key else ""
        return f"{where}{self.code} {self.message}{key}"

    def __str__(self) -> str:
        return f"{self.head}   hint: {self.hint}"

    def to_dict(self) -> dict[str, object]:
        """Convert to plain JSON values."""
        content = {"code": self.code, "message": self.message, "hint": self.hint}
        keys = ("file", "line", "column")
        place = {key: getattr(self.place, key, None) for key in keys}
        return {**content, **place, "key": self.key or None}


class Failure(Exception):
    """The tool stops here, with an exit code and every complaint it has.

    Raised on purpose only; whatever else escapes is an internal error (exit code 70).
    """

    def __init__(self, exit_code: ExitCode, complaints: Complaint | list[Complaint]) -> None:
        listed = [complaints] if isinstance(complaints, Complaint) else list(complaints)
        super().__init__(exit_code, listed)
        self.exit_code = exit_code
        self.complaints = listed

    def __str__(self) -> str:
        return "\n".join(map(str, self.complaints))


def build_write_failure(code: str, message: str, hint: str, *, is_of_disk: bool) -> Failure:
    """Give the failure for a file that somebody asked for by name and that can't be written.

    Its exit code is that of a wrong name (2), or of a disk without room (6) where ``is_of_disk``.
    """
    if not is_of_disk:
        return Failure(ExitCode.SPEC, Complaint(code, message, hint))
    hint = f"free space on the disk or repair it, or {hint}"
    return Failure(ExitCode.LEDGER, Complaint(code, message, hint))


class InternalError(Exception):
    """A mistake of ours, shown by an exception whose text must not be seen.

    ``kind`` is the name of that exception's class, and all that is left of it: its text could hold
    a value of the data. Raise it ``from None``.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


REPORT = "this is a bug in dprelease: please report it, with this line"
SYSTEM = "check memory, disk, open files and threads"


def name_kind(problem: BaseException) -> str:
    """Name the class of an exception that is not a Failure: no more may be said of it."""
    return problem.kind if isinstance(problem, InternalError) else type(problem).__name__
