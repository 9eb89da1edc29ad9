"""Of a sheet of a workbook nothing is left to see but noised figures."""

from __future__ import annotations

from pathlib import Path

import pytest
import workbooks
from canary import CELLS, TEXT, find_in
from small import GOOD, HEADER, SPEC, command, iter_files_below
from world import HEADER as COLUMNS
from world import ROWS, Rows, World

DATA = 'path = "data.csv"'
ODD = [TEXT * 200_000, f"'; DROP TABLE t; -- {TEXT}", "NaN", f"\x1b[31m{TEXT}".encode().decode(),
       "1e400", "", "9" * 400]  # fmt: skip


def test_whatever_the_cells_hold(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.toml").write_text(SPEC.replace(DATA, 'path = "data.xlsx"'), encoding="utf-8")
    odd = [[value.replace("\x1b", "_x001B_")] * len(HEADER) for value in ODD]
    rows = [HEADER, *[GOOD, CELLS] * 5, *odd]
    workbooks.table(tmp_path / "data.xlsx", rows)
    for name in ("check", "plan", "run", "run"):
        answer = command(capfd, name, str(tmp_path / "spec.toml"))
        assert answer.code == 0, answer.err
        assert find_in((answer.out + answer.err).encode()) == []
    left = [path for path in iter_files_below(tmp_path) if path.name != "data.xlsx"]
    assert (tmp_path / "out" / "report.json") in left
    assert [path for path in left if find_in(path.read_bytes())] == []


class Workbook(World):
    """A world whose data is in a workbook."""

    def write_spec(self) -> None:
        super().write_spec()
        text = self.spec.read_text(encoding="utf-8").replace(DATA, 'path = "data.xlsx"')
        lines = [line for line in text.splitlines() if not line.startswith("null_values")]
        self.spec.write_text("\n".join(lines), encoding="utf-8")

    def write(self, rows: Rows) -> None:
        workbooks.table(self.folder / "data.xlsx", [COLUMNS, *rows])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("what", ["one less", "one more", "none"])
def test_neighbours_leave_the_same_traces(what: str, tmp_path: Path) -> None:
    """The same noised figures put in their place, all else is the same, byte by byte."""
    world = Workbook(tmp_path, "every_statistic_rows")
    world.write_spec()
    world.write(ROWS)
    expected = world.run()
    assert expected.code == 0, expected.err
    world.replayed = world.drawn
    more = (1e300, True, TEXT * 99, -5, "", *ROWS[0][5:])
    neighbours: dict[str, Rows] = {"one less": ROWS[1:], "one more": [*ROWS, more], "none": []}  # type: ignore[list-item]
    world.write(neighbours[what])
    assert world.run() == expected
