"""Records of CSV over several lines: which lines are one record.

A line is odd if it holds an odd number of quotes. The file is read once, from its beginning. At
each line that is not yet assigned to a record:

* If it is odd, take it together with all lines to the next odd one, which is included. These are
  one record if they are at most ``max_lines``, have at most ``LINE_LIMIT`` bytes together, and are
  well written: as many fields as the header, quotes about whole fields and nowhere else, quotes
  inside of them doubled. The line breaks in it are a part of the text.
* Otherwise the line is read by itself, as without ``multiline`` (see ``csv_reader``), and the next
  line begins anew.

It follows:

* A well-written record within both limits is read correctly, wherever it stands and whatever its
  texts say, if all records before it are such records: its first line is odd, the lines inside are
  even, its last line is odd; a record without a line break is even. So in a well-written table all
  records are read one by one, and each is a function of its own bytes.
* A damaged record among well-written ones changes no record before it. Its odd lines could take a
  part of the records behind it. Then they end inside of a text with a line break, within
  ``max_lines``. That text begins with a delimiter or a line break, after quotes and blanks at most,
  because its opening quote must close a field here, and blanks may follow a closing quote. If no
  text with a line break begins so, no other record changes, and the damaged record becomes at most
  as many records as it has lines.
* No rule that looks at few lines can do better. If each line is ``,"``, every two lines are a
  record, in one way or shifted by one line, and the first line decides for all of them.

A record longer than ``max_lines`` is damaged in that sense: its lines are read one by one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dprelease.files.csv_line import split_line
from dprelease.model import Dialect
from dprelease.sources.csv.csv_reader import Splitter
from dprelease.sources.shared.arrow_texts import build_texts
from dprelease.sources.shared.files import Layout
from dprelease.sources.shared.first_lines import LINE_LIMIT

if TYPE_CHECKING:
    import pyarrow


class MultilineSplitter(Splitter):
    """Splits blocks of lines into columns of text, as ``Splitter`` does, by the rule above."""

    def __init__(self, dialect: Dialect, layout: Layout, places: Sequence[int]) -> None:
        super().__init__(dialect, layout, places)
        self._quote = dialect.quote.encode()
        self._single = Splitter(replace(dialect, max_lines=1), layout, places)

    def iter_columns(self, blocks: Iterable[tuple[bytes, int]]) -> Iterator[list[pyarrow.Array]]:
        """Split blocks into the wanted fields of all records, some columns at a time."""
        waiting = b""  # lines from an odd one on, whose record may continue
        for block, overlong in blocks:
            if overlong:  # a line longer than any record was left out
                yield from self._split_by_lines(waiting, ended=True)
                yield from self._single.iter_tables(b"", overlong)
                waiting = b""
            lines = waiting + block
            sure = self._find_last_odd(lines)
            clean = self.clean_columns(lines[:sure]) if self._may_go_on(lines[sure:]) else None
            if clean is None:
                waiting = yield from self._split_by_lines(lines, ended=False)
            else:
                yield clean
                waiting = lines[sure:]
        yield from self._split_by_lines(waiting, ended=True)

    def _find_last_odd(self, block: bytes) -> int:
        """Find where the last odd line begins if their number is odd, else the end."""
        end = len(block)
        if block.count(self._quote) % 2 == 0:
            return end
        start = block.rfind(b"\n", 0, end - 1) + 1
        while block.count(self._quote, start, end) % 2 == 0:
            start, end = block.rfind(b"\n", 0, start - 1) + 1, start
        return start

    def _may_go_on(self, block: bytes) -> bool:
        """Tell if these lines and one more could be a record."""
        return block.count(b"\n") < self.dialect.max_lines and len(block) <= LINE_LIMIT

    def _split_by_lines(
        self, block: bytes, *, ended: bool
    ) -> Generator[list[pyarrow.Array], None, bytes]:
        """Split a block into records line by line; return the rest of it.

        The rest is a record that may continue after the block. It is empty if the data has
        ``ended`` or the record would be too long.
        """
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()  # what follows the last line feed is no line
        odd = [place for place, line in enumerate(lines) if line.count(self._quote) % 2]
        columns: list[list[str]] = [[] for _ in self.wanted]
        single: list[bytes] = []
        start, end, at = 0, len(lines), 0
        while at + 1 < len(odd):
            first, last = odd[at], odd[at + 1]
            fields = self._record(lines[first : last + 1])
            if fields is not None:
                for column, place in zip(columns, self.wanted, strict=True):
                    column.append(fields[place])
                single += lines[start:first]
                start, at = last + 1, at + 1
            at += 1
        if at < len(odd) and not ended and self._may_go_on(_join_lines(lines[odd[at] :])):
            end = odd[at]
        yield from self._single.iter_tables(_join_lines(single + lines[start:end]), 0)
        yield [build_texts(column) for column in columns]
        return _join_lines(lines[end:])

    def _record(self, lines: Sequence[bytes]) -> list[str] | None:
        """Split lines into the fields of one record; None if they are not one."""
        if len(lines) > self.dialect.max_lines or len(_join_lines(lines)) > LINE_LIMIT + 1:
            return None
        text = b"\n".join(lines).rstrip(b"\r").decode(self.encoding, "replace")
        fields = split_line(text, self.dialect.delimiter, self.dialect.quote, strict=True)
        return fields if self.has_record(fields) else None


def _join_lines(lines: Sequence[bytes]) -> bytes:
    return b"\n".join((*lines, b""))
