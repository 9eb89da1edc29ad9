"""How much memory a release of 2 GB of CSV takes. Target: 512 MiB resident.

Run: python benchmarks/memory.py FOLDER [GIGABYTES]
"""

from __future__ import annotations

import sys
from pathlib import Path

from big_table import write_table
from end_to_end import release
from processes import verdict

BYTES_A_ROW = 50.4
MOST = 512.0


def main() -> None:
    """Print one line."""
    folder = Path(sys.argv[1])
    gigabytes = float(sys.argv[2]) if sys.argv[2:] else 2.0
    table = write_table(folder, "csv", int(gigabytes * 1e9 / BYTES_A_ROW))
    cost = release(table)
    print(f"{'CSV':>9} {'seconds':>8} {'peak':>9}  target")
    print(
        f"{table.stat().st_size / 1e6:6.0f} MB {cost.seconds:8.1f} {cost.mebibytes:5.0f} MiB"
        f"  <= {MOST:.0f} MiB {verdict(cost.mebibytes, MOST)}"
    )


if __name__ == "__main__":
    main()
