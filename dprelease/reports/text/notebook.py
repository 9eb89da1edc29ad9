"""Tables in HTML, as notebooks show a value: every text escaped, nothing loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MOST_ROWS = 20


def render_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of at most ``MOST_ROWS`` rows; None is an empty cell."""
    all_rows = list(rows)
    first = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{_render_cell(value)}</td>" for value in row) + "</tr>"
        for row in all_rows[:MOST_ROWS]
    )
    hidden_count = len(all_rows) - MOST_ROWS
    below = f"<p>and {hidden_count:,} more rows</p>" if hidden_count > 0 else ""
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{first}</tr></thead>"
        f"<tbody>{body}</tbody></table>{below}"
    )


def _render_cell(value: object) -> str:
    return "" if value is None else escape(str(value))
