"""Tokens that stand in every cell of the data, and must be found nowhere else."""

from __future__ import annotations

from small import GOOD, HEADER, lines

TEXT = "zqxcanary"
NUMBER = "86420975"
DATE = "1987-06-05"
TOKENS = [TEXT, NUMBER, DATE, "06/05/1987"]

CELLS = [f"{TEXT}who", f"{TEXT}region", f"{TEXT}town", DATE, f"{DATE} 04:05:06", f"{NUMBER}.25",
         NUMBER, TEXT, f"{TEXT}unread"]  # fmt: skip


def cell(**cells: str) -> list[str]:
    """The cells of a record that is all tokens, but for these."""
    return [cells.get(name, value) for name, value in zip(HEADER, CELLS, strict=True)]


ROW = ",".join(CELLS).encode()
FILES: dict[str, bytes] = {
    "good": lines([GOOD, CELLS] * 5),
    "one record": lines([CELLS]),
    "wrong types": lines([cell(paid=TEXT, age=TEXT, day=NUMBER, born=TEXT, ok=NUMBER)] * 3),
    "quotes and fields": lines(
        [GOOD, cell(who=f'"{TEXT}'), CELLS, cell(who=f'"{TEXT}"{TEXT}'), CELLS[:3], CELLS * 2]
    ),
    "odd bytes": b"\n".join(
        [lines([GOOD, cell(town=TEXT * 200_000)])]
        + [ROW.replace(b"who", odd) for odd in (b"\xff\xfe", b"\0", b"\r", b"\r\r")]
    ),
    "code": lines(
        [
            cell(town=f"'; DROP TABLE t; -- {TEXT}", region=f'="{TEXT}"', who=f"{{0}}%s{TEXT}"),
            cell(town=f"\x1b[31m{TEXT}", who=f"$(touch {TEXT})", region=f"../../{TEXT}"),
            cell(paid=f"1e{NUMBER}", age=f"-{NUMBER}{NUMBER}{NUMBER}", day="06/05/1987"),
        ]
    ),
}


def find_in(content: bytes) -> list[str]:
    """The tokens in a content."""
    return [token for token in TOKENS if token.encode() in content]
