"""Complaints and warnings about a spec, gathered with their places to be said all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from dprelease.errors import Complaint, ExitCode, Failure, Place, find_remedy
from dprelease.specfile.complaints.complaint_wording import join_quoted, show, suggest_word
from dprelease.specfile.complaints.places import Marks, Path, format_path

MOST_SHOWN = 150
MORE = "E108"  # the complaint that there are more
Spot = Literal["key", "value"]


class Reporter:
    """All that is found wrong with one spec. ``marks`` is None for a spec without a file."""

    def __init__(self, file: str, marks: Marks | None) -> None:
        self.file = file
        self.marks = marks
        self.complaints: list[Complaint] = []
        self.warnings: list[Complaint] = []
        self.computed: frozenset[str] = frozenset()  # columns that have an expression themselves
        self.joined: dict[str, int] = {}  # texts that each expression of the spec joins

    def complain(
        self, code: str, message: str, path: Path, hint: str = "", at: Spot = "value"
    ) -> None:
        """Note a mistake at the key or at the value of a key path."""
        self.complaints.append(
            Complaint(code, message, hint, self.place(path, at), format_path(path))
        )

    def refuse(self, refused: Refused, path: Path) -> None:
        """Note why a value was refused, at its key path or below it at the key to blame."""
        path = (*path, refused.key) if refused.key else path
        self.complain(refused.code, refused.message, path, refused.hint)

    def warn(self, code: str, message: str, path: Path, hint: str = "", at: Spot = "value") -> None:
        """Note something that works but deserves a second look."""
        self.warnings.append(
            Complaint(code, message, hint, self.place(path, at), format_path(path))
        )

    def place(self, path: Path, at: Spot = "value") -> Place | None:
        """Find where a key path stands, or the nearest table around it."""
        if self.marks is None:
            return None
        target = path
        while target:
            mark = self.marks.find(target)
            if mark is not None:
                line, column = mark.key if at == "key" or target != path else mark.value
                return Place(self.file, line, column)
            target = target[:-1]
        return Place(self.file, 1, 1)

    def list_places(self) -> dict[str, Place]:
        """List the place of the value of every key path (of a table: its header)."""
        if self.marks is None:
            return {}
        return {
            format_path(path): Place(self.file, *mark.value)
            for path, mark in self.marks.items()
            if path
        }

    def raise_if_any(self) -> None:
        """Stop with every complaint in the order of the file, if there is one."""
        if not self.complaints:
            return
        complaints = sorted(dict.fromkeys(self.complaints), key=_order)
        if len(complaints) > MOST_SHOWN:
            rest = len(complaints) - MOST_SHOWN
            complaint = Complaint(MORE, f"{rest} more complaints are not shown")
            complaints = [*complaints[:MOST_SHOWN], complaint]
        raise Failure(ExitCode.SPEC, complaints)


def _order(complaint: Complaint) -> tuple[int, int, str]:
    place = complaint.place
    return (place.line, place.column, complaint.code) if place else (0, 0, "")


class Refused(Exception):
    """A value that can't be used: message, remedy, complaint code, and the key if it is clear."""

    def __init__(self, message: str, hint: str = "", code: str = "E205", key: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or find_remedy(code)
        self.code = code
        self.key = key


def build_word_refusal(value: object, noun: str, words: Sequence[str]) -> Refused:
    """Refuse a value that is none of the words which a key takes (E105)."""
    return Refused(
        f"{show(value)} is not a valid {noun}",
        suggest_word(value, words, f"use {join_quoted(words)}"),
        "E105",
    )
