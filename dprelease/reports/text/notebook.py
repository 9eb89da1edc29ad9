"""Tables in HTML, as notebooks show a value: every text escaped, nothing loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MOST_ROWS = 20


def render_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Render a table as HTML for notebooks; None is an empty cell, and all texts are escaped.

    It shows the first ``MOST_ROWS`` rows, and how many more there are.
    """
    all_rows = list(rows)
    first = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(
        "<tr>"
        + "".join(f"<td>{'' if value is None else escape(str(value))}</td>" for value in row)
        + "</tr>"
        for row in all_rows[:MOST_ROWS]
    )
    # A notebook keeps its outputs: a page of rows, not a table of any length.
    hidden_count = len(all_rows) - MOST_ROWS
    below = f"<p>and {hidden_count:,} more rows</p>" if hidden_count > 0 else ""
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{first}</tr></thead>"
        f"<tbody>{body}</tbody></table>{below}"
    )
