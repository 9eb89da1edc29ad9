"""A scanner for the places of all keys and values of a TOML text.

It is for text that a TOML parser has accepted: it recognises only as much as positions need, and
its key paths equal those of the parsed tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dprelease.specfile.complaints.places import MARKED, Mark, Marks, Path, Spot

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]*")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
# Rarely needed: compiled when they are.
_LONG_BASIC = r'(?s)"""(?:[^"\\]|\\.|"(?!""))*"""("{0,2})'
_LONG_LITERAL = r"(?s)'''(?:[^']|'(?!''))*'''('{0,2})"
# An element of an array that is no array, table or long text, up to the next comma or the end.
_ELEMENT = (
    r"""[ \t\n]*("(?!"")(?:[^"\\\n]|\\.)*"|'(?!'')[^'\n]*'|[^ \t\n,\[\]{}"'#]+)"""
    r"""[ \t\n]*(?:,|(?=\]))"""
)
_ESCAPE = r"\\(?:([btnfre\"\\])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2}))"
_ESCAPES = dict(zip('btnfre"\\', '\b\t\n\f\r\x1b"\\', strict=True))


class Lost(Exception):
    """The text is not what the scanner expects; no positions then."""


def find_positions(text: str) -> Marks:
    """Map every key path of a valid TOML text to its mark.

    Raises ``Lost`` or RecursionError on text that no TOML parser would take.
    """
    return _Scanner(text.replace("\r\n", "\n")).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.marks = Marks([0, *(match.end() for match in re.finditer("\n", text))])
        self.spot = self.marks.find_spot
        self.lengths: dict[Path, int] = {}  # elements seen of each array of tables

    def scan(self) -> Marks:
        table: Path = ()
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text):
                return self.marks
            if self.text[self.at] == "[":
                table = self._scan_header()
            else:
                self._scan_pair(table)

    def _skip(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise Lost
        self.at = match.end()
        return match

    def _expect(self, token: str) -> None:
        if not self.text.startswith(token, self.at):
            raise Lost
        self.at += len(token)

    def _scan_header(self) -> Path:
        start = self.spot(self.at)
        several = self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        keys = [name for name, _ in self._scan_key()]
        self._expect("]]" if several else "]")
        path: Path = ()
        for number, name in enumerate(keys):
            path = (*path, name)
            last = number == len(keys) - 1
            self._mark(path, start, start, replace=last and not several)
            if last and several:
                count = self.lengths.get(path, 0)
                self.lengths[path] = count + 1
                path = (*path, count)
                self._mark(path, start, start)
            elif path in self.lengths:
                # A header below an array of tables belongs to its latest element.
                path = (*path, self.lengths[path] - 1)
        return path

    def _scan_pair(self, table: Path) -> None:
        path = table
        parts = list(self._scan_key())
        self._skip(_SPACE)
        self._expect("=")
        self._skip(_SPACE)
        for name, offset in parts:
            path = (*path, name)
            self._mark(path, self.spot(offset), self.spot(offset))
        self.marks[path] = Mark(self.marks[path].key, self.spot(self.at))
        self._scan_value(path)

    def _mark(self, path: Path, key: Spot, value: Spot, *, replace: bool = False) -> None:
        if replace or path not in self.marks:
            self.marks[path] = Mark(key, value)

    def _scan_key(self) -> Iterator[tuple[str, int]]:
        while True:
            self._skip(_SPACE)
            start = self.at
            yield self._name(), start
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return
            self.at += 1

    def _name(self) -> str:
        quote = self.text[self.at : self.at + 1]
        if quote == '"':
            text = self._skip(_BASIC).group()[1:-1]
            return re.sub(_ESCAPE, _unescape, text) if "\\" in text else text
        if quote == "'":
            return self._skip(_LITERAL).group()[1:-1]
        return self._skip(_BARE).group()

    def _scan_value(self, path: Path) -> None:
        first = self.text[self.at : self.at + 1]
        if first == "[":
            self._scan_array(path)
        elif first == "{":
            self._scan_inline_table(path)
        elif first in ('"', "'"):
            self._scan_string(first)
        else:
            self._skip(_SCALAR)

    def _scan_string(self, quote: str) -> None:
        if self.text.startswith(quote * 3, self.at):
            self._skip(re.compile(_LONG_BASIC if quote == '"' else _LONG_LITERAL))
        else:
            self._skip(_BASIC if quote == '"' else _LITERAL)

    def _scan_array(self, path: Path) -> None:
        self.at += 1
        for number in range(MARKED):
            if self._is_closing("]"):
                return
            place = self.spot(self.at)
            self._mark((*path, number), place, place)
            self._scan_value((*path, number))
            self._scan_next("]")
        self._scan_array_rest(path)

    def _scan_array_rest(self, path: Path) -> None:
        # A mark for each of a million elements takes too much memory: keep only their offsets.
        offsets = self.marks.rest.setdefault(path, [])
        element = re.compile(_ELEMENT)
        while True:
            while (match := element.match(self.text, self.at)) is not None:
                offsets.append(match.start(1))
                self.at = match.end()
            if self._is_closing("]"):
                return
            offsets.append(self.at)
            self._scan_value((*path, MARKED + len(offsets) - 1))
            self._scan_next("]")

    def _scan_inline_table(self, path: Path) -> None:
        self.at += 1
        while not self._is_closing("}"):
            self._scan_pair(path)
            self._scan_next("}")

    def _is_closing(self, bracket: str) -> bool:
        self._skip(_BLANK)
        if self.at >= len(self.text):
            raise Lost
        if self.text[self.at] != bracket:
            return False
        self.at += 1
        return True

    def _scan_next(self, bracket: str) -> None:
        """Go over the comma to the next element; the closing bracket is left where it is."""
        self._skip(_BLANK)
        if not self.text.startswith(bracket, self.at):
            self._expect(",")


def _unescape(match: re.Match[str]) -> str:
    short, *codes = match.groups()
    if short is not None:
        return _ESCAPES[short]
    return chr(int(next(code for code in codes if code is not None), 16))
