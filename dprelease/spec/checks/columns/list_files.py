"""Files of values, one a line: what `keys_file` and `candidates_file` name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

from dprelease.spec.complaints.quoting import show
from dprelease.spec.toml.numbers import Refused
from dprelease.spec.toml.tree import MAX_VALUES

_MOST_BYTES = 64 * 1024 * 1024
_CHUNK = 1024 * 1024
_MARK = "\ufeff"


class Lines(NamedTuple):
    """The lines of a file that are not blank, their numbers from 1 on, and the file's digest."""

    texts: Sequence[str]
    numbers: Sequence[int]
    sha256: str


def read_lines(file: str, path: str, stream: BinaryIO, code: str) -> Lines:
    """Read the lines of an open UTF-8 file that are not blank.

    ``file`` is the key of the spec that names it. No line is ever shown: the file could be the
    wrong one, and private. Of a file that holds too much only its beginning is read. Raises
    ``Refused``: E112, or ``code`` for too many lines.
    """
    texts: list[str] = []
    numbers: list[int] = []
    first = 1
    digest = hashlib.sha256()
    try:
        for lines in _pieces(file, stream, digest.update):
            for number, line in enumerate(lines, first):
                if line and not line.isspace():
                    texts.append(line)
                    numbers.append(number)
            first += len(lines)
            if len(texts) > MAX_VALUES:
                message = f"the {file} holds more than {MAX_VALUES} values"
                raise Refused(message, "use fewer, such as a coarser list", code)
    except UnicodeDecodeError:
        message = f"the {file} {show(path)} is not UTF-8"
        raise Refused(message, "save it as UTF-8", "E112") from None
    except OSError:
        raise unreadable(file, path) from None
    if not texts:
        message = f"the {file} {show(path)} holds no values"
        raise Refused(message, "write one value a line", "E112")
    if numbers[-1] == len(numbers):
        return Lines(texts, range(1, len(numbers) + 1), digest.hexdigest())
    return Lines(texts, numbers, digest.hexdigest())


def unreadable(file: str, path: str) -> Refused:
    """Say that a file can't be read, and where it is looked for."""
    message = f"the {file} {show(path)} can't be read"
    hint = f"it is looked for in {show(os.path.dirname(path))}; one value a line, UTF-8"
    return Refused(message, hint, "E112")


def _pieces(file: str, stream: BinaryIO, digest: Callable[[bytes], None]) -> Iterator[list[str]]:
    """Lines without their endings, many at once; all bytes go to ``digest`` as well."""
    rest, size = b"", 0
    while chunk := stream.read(_CHUNK):
        digest(chunk)
        size += len(chunk)
        if size > _MOST_BYTES:
            raise Refused(f"the {file} is too large", "use fewer or shorter values", "E112")
        whole, end, rest = (rest + chunk).rpartition(b"\n")
        if end:
            yield _lines(whole, start=size == len(chunk))
        elif len(rest) > _CHUNK:
            raise Refused(f"the {file} has a very long line", "write one value a line", "E112")
    yield _lines(rest, start=size == len(rest))


def _lines(content: bytes, start: bool) -> list[str]:
    text = content.decode("utf-8")
    if start:
        text = text.removeprefix(_MARK)
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines
