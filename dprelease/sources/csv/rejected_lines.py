"""Lines that DuckDB's CSV reader leaves out, to be read by the careful one.

DuckDB names the first byte of what it could not read as a record. If that is one line in which
every quote is about a whole field, or doubled in one, nothing is wrong with it but the number of
its fields, or its encoding: DuckDB goes on at the next line. The careful reader reads these lines.
Records of both are believed only if there are as many as lines (see ``line_check``).

Nothing is believed if any other line is left out, or if a quote stands otherwise anywhere in the
file. After an unclosed quote, or text behind a closing one, DuckDB goes on at a place that depends
on the lines that follow, may take a line apart, and may name another line than the one it rejects:
one record would decide what is read of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dprelease.model import Dialect
from dprelease.sources.shared.files import Split
from dprelease.sources.shared.first_lines import LINE_LIMIT
from dprelease.sources.shared.locations import open_binary

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_REJECTED = 1000  # errors in a file that DuckDB names; a line may have several
# Where the parts of the last reading begin, and if their errors are of these kinds. DuckDB counts
# bytes from 1, and names each error of a line.
_PARTS = """
SELECT file_path, line_byte_position - 1, BOOL_AND(COALESCE(error_type IN
  ('MISSING COLUMNS', 'TOO MANY COLUMNS', 'INVALID ENCODING'), FALSE))
FROM reject_errors JOIN reject_scans USING (scan_id, file_id)
WHERE scan_id = (SELECT MAX(scan_id) FROM reject_scans)
GROUP BY file_path, line_byte_position ORDER BY file_path, line_byte_position
"""


def find_rejected_lines(connection: DuckDBPyConnection, dialect: Dialect) -> Sequence[Split]:
    """Find the lines that the last statement left out.

    Args:
        connection: Its last statement stored what it rejected.
        dialect: How the files are written.

    Returns:
        Parts of files in order, each of one line; none if they can't be believed.

    Raises:
        OSError: A file can't be read.
    """
    parts: list[Split] = []
    for path, start, is_known in connection.execute(_PARTS).fetchall():
        last = parts[-1] if parts else None
        overlaps = last is not None and last.path == path and start < (last.end or 0)
        size = _measure_clean_line(path, start, dialect)
        if not is_known or not size or overlaps:
            return ()
        parts.append(Split(path, start, start + size))
    paths = dict.fromkeys(part.path for part in parts)
    return parts if all(_has_clean_lines(path, dialect) for path in paths) else ()


def _has_clean_lines(path: str, dialect: Dialect) -> bool:
    """Tell if all quotes of a file are about whole fields, or doubled in one."""
    from dprelease.sources.csv.csv_reader import clean_records, iter_blocks  # seldom needed

    blocks = iter_blocks(Split(path, 0, None), dialect)
    return all(
        not overlong and clean_records(block, dialect) is not None for block, overlong in blocks
    )


def _measure_clean_line(path: str, start: int, dialect: Dialect) -> int:
    """Measure a line in bytes, its end included; 0 if it does not begin there or is not clean."""
    from dprelease.sources.csv.csv_reader import clean_records

    with open_binary(path) as stream:
        stream.seek(max(start - 1, 0))
        begins = start == 0 or stream.read(1) == b"\n"
        line = stream.readline(LINE_LIMIT + 2)
    return len(line) if begins and clean_records(line, dialect) == 1 else 0
