"""Lines that DuckDB's CSV reader leaves out, to be read by the careful one.

DuckDB names the first byte of what it could not read as a record, and keeps its text: one line, or
several if a quote is not closed. The careful reader reads these lines. Records of both are
believed only if there are as many as lines (see ``line_check``): each record of DuckDB's, and each
part that it left out, ends at the end of a line, so then no line was joined to another or lost.

Nothing is believed if a part begins inside of a line or reaches into the next one, or if there are
so many that DuckDB does not name all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dprelease.sources.shared.files import Split
from dprelease.sources.shared.locations import open_binary

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_REJECTED = 1000  # errors in a file that DuckDB names; a line may have several
# The parts of the last reading. DuckDB counts bytes from 1, and tells each error of a line.
_PARTS = """
SELECT file_path, line_byte_position - 1, MAX(STRLEN(csv_line))
FROM reject_errors JOIN reject_scans USING (scan_id, file_id)
WHERE scan_id = (SELECT MAX(scan_id) FROM reject_scans)
GROUP BY file_path, line_byte_position ORDER BY file_path, line_byte_position
"""


def find_rejected_lines(connection: DuckDBPyConnection) -> Sequence[Split]:
    """Find the lines that the last statement left out.

    Args:
        connection: Its last statement stored what it rejected.

    Returns:
        Parts of files in order, each of whole lines; none if they can't be believed.

    Raises:
        OSError: A file can't be read.
    """
    parts: list[Split] = []
    for path, start, size in connection.execute(_PARTS).fetchall():
        last = parts[-1] if parts else None
        overlaps = last is not None and last.path == path and start < (last.end or 0)
        if not size or overlaps or not _is_line_start(path, start):
            return ()
        parts.append(Split(path, start, start + size))
    return parts


def _is_line_start(path: str, place: int) -> bool:
    if place == 0:
        return True
    with open_binary(path) as stream:
        stream.seek(place - 1)
        return stream.read(1) == b"\n"
