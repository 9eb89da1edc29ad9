"""Which of its forms bounds the units of a request: all give the same rows, at different costs.

Lists, if a row is an integer of up to 127 bits, private keys and counted values by their ranks;
else windows; and looks where the rows of one unit seem not to fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dprelease.engines.duckdb_cells import Cells, Part, locate
from dprelease.engines.duckdb_giants import Looks
from dprelease.engines.duckdb_lists import MOST_ROWS, listed
from dprelease.engines.duckdb_packing import Packing, packing_of
from dprelease.engines.duckdb_ranks import ranked, ranks_of, unranked
from dprelease.engines.duckdb_rows import Rows
from dprelease.engines.duckdb_windows import windowed
from dprelease.expressions.sqltext import Sql
from dprelease.model import AggregateRequest, Bound

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FRUGAL = 16  # from so many times more parts on, one is thought to be too large for a single unit
VERY_FRUGAL = 64  # from so many times more on, for a single cell of it


@dataclass(slots=True)
class Bounding:
    """A bound, and how it is applied to the rows of a part.

    ``run`` runs a statement at once. With ``everything`` all records are accounted for.
    """

    request: AggregateRequest
    bound: Bound
    run: Callable[[Sql], DuckDBPyConnection]
    everything: bool
    packing: Packing | None = None
    parts: int = 1  # that are asked first

    def pack(self, rows: Rows) -> None:
        """See whether a row can be an integer, for which values may have to be ranked."""
        if self.bound.rows > MOST_ROWS:
            return
        sizes = {}
        if self.request.private or rows.values:
            found = ranks_of(self.run, locate(self.request, rows, everything=False))
            if found is None:
                return
            sizes = found
        self.packing = packing_of(self.request, rows, sizes)

    def kept(self, cells: Cells, part: Part) -> Cells:
        """The rows of a part, no more of each unit than may be kept."""
        request, bound, everything = self.request, self.bound, self.everything
        if part.of >= FRUGAL * self.parts:
            looks = Looks(request, bound, cells, everything)
            return looks.taken(self.run, many=part.of >= VERY_FRUGAL * self.parts)
        if self.packing is None:
            return windowed(request, bound, cells, everything)
        if not cells.ranked:
            return listed(request, bound, cells, self.packing, everything)
        return unranked(listed(request, bound, ranked(cells), self.packing, everything))
