"""The label of privacy facts as a picture of its own, for a portal to embed."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.language import get_language
from dprelease.reports.charts.svg import clean, count_letters, fix
from dprelease.reports.sections.document import FactsLabel, Heading, Meter, Paragraph

MEDIA_TYPE = "image/svg+xml"

_WIDTH, _MARGIN, _LINE = 360, 16, 18
_LETTER = 7.2
"""Room for a letter of 13 px; fonts differ, and a line must not be cut."""

_LETTERS = int((_WIDTH - 2 * _MARGIN) / _LETTER)
_LOOKS = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.t{font-size:20px}.b,.t{font-weight:700}"
    ".paper{fill:#fff;stroke:#1f2328;stroke-width:2}.rule{fill:#d0d7de}.bar{fill:#0a5cb8}"
    ".quiet{fill:#57606a}.track{fill:#e3e8ee}.thick{fill:#1f2328}"
)


def render_label(label: FactsLabel) -> str:
    """Render the label as an SVG that needs no style sheet.

    Its title and description say the same to readers who do not see it.
    """
    shapes = [
        f'<text class="t" x="{_MARGIN}" y="34">{clean(label.title)}</text>',
        _draw_box("thick", _MARGIN, 42, _WIDTH - 2 * _MARGIN, 7),
    ]
    height = 52.0
    for row in label.rows:
        height, drawn = _draw_row(row, height)
        shapes += drawn
    height += 8
    said = " ".join(_iter_sentences(label))
    frame = f'<rect class="paper" x="1" y="1" width="{_WIDTH - 2}" height="{fix(height - 2)}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {fix(height)}" '
        f'width="{_WIDTH}" height="{fix(height)}" role="img" xml:lang="{get_language()}">'
        f"<title>{clean(label.title)}</title><desc>{clean(said)}</desc><style>{_LOOKS}</style>"
        f"{frame}{''.join(shapes)}</svg>\n"
    )


def _iter_sentences(label: FactsLabel) -> Iterator[str]:
    for row in label.rows:
        if isinstance(row, Heading | Paragraph | Meter):
            yield row.text if row.text.endswith(".") else f"{row.text}."
        else:
            yield f"{row[0]}: {row[1]}."


def _draw_row(
    row: tuple[str, str] | Heading | Paragraph | Meter, top: float
) -> tuple[float, list[str]]:
    """Draw a row below ``top``; give the new top, and its shapes."""
    right = _WIDTH - _MARGIN
    match row:
        case Heading():
            lines = _wrap(row.text, _LETTERS)
            return _write_lines(lines, top + 6, "b", _MARGIN, "start")
        case Paragraph():
            return _end_row(*_write_lines(_wrap(row.text, _LETTERS), top, "", _MARGIN, "start"))
        case Meter():
            width = _WIDTH - 2 * _MARGIN
            before, now = row.before * width, row.now * width
            shapes = [
                _draw_box("track", _MARGIN, top + 8, width, 10),
                _draw_box("quiet", _MARGIN, top + 8, before, 10),
                _draw_box("bar", _MARGIN + before, top + 8, now, 10),
            ]
            lines = _wrap(row.text, _LETTERS)
            end, text = _write_lines(lines, top + 18, "", _MARGIN, "start")
            return _end_row(end, [*shapes, *text])
    name, value = row
    if count_letters(name) + count_letters(value) + 2 <= _LETTERS:
        _, left = _write_lines([name], top, "", _MARGIN, "start")
        end, shapes = _write_lines([value], top, "b", right, "end")
        return _end_row(end, [*left, *shapes])
    middle, left = _write_lines(_wrap(name, _LETTERS), top, "", _MARGIN, "start")
    end, shapes = _write_lines(_wrap(value, _LETTERS - 2), middle - 5, "b", right, "end")
    return _end_row(end, [*left, *shapes])


def _end_row(end: float, shapes: list[str]) -> tuple[float, list[str]]:
    return end + 1, [*shapes, _draw_box("rule", _MARGIN, end, _WIDTH - 2 * _MARGIN, 1)]


def _write_lines(
    lines: list[str], top: float, style: str, x: float, anchor: str
) -> tuple[float, list[str]]:
    shapes = [
        f'<text class="{style}" x="{fix(x)}" y="{fix(top + _LINE * (place + 1))}" '
        f'text-anchor="{anchor}">{clean(line)}</text>'
        for place, line in enumerate(lines)
    ]
    return top + _LINE * len(lines) + 7, shapes


def _draw_box(style: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="{style}" x="{fix(x)}" y="{fix(y)}" width="{fix(width)}" '
        f'height="{fix(height)}"/>'
    )


def _wrap(text: str, limit: int) -> list[str]:
    """Break a text into lines of so many letters; a longer word is broken too."""
    lines = [""]
    for word in text.split():
        while count_letters(word) > limit:
            lines.append(word[: limit // 2])
            word = word[limit // 2 :]  # noqa: PLW2901 - the rest of a word that has no room
        joined = f"{lines[-1]} {word}".strip()
        if count_letters(joined) <= limit:
            lines[-1] = joined
        else:
            lines.append(word)
    return [line for line in lines if line] or [""]
