"""A report as a neutral document: what stands in it and in which order, for every renderer.

A renderer lays these parts out and words nothing. Texts are plain; where ``code`` is set, what
stands between backticks is code. Numbers are those of the facts, None is nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dprelease.reports.charts.svg import Chart, HeatTable


class Bullets(NamedTuple):
    """A list of sentences."""

    lines: tuple[str, ...]
    code: bool = False


class Meter(NamedTuple):
    """How much of a cap is used, as shares of it: before, and by this release; said in ``text``."""

    before: float
    now: float
    text: str


class Tile(NamedTuple):
    """A figure that is seen first, with its noise if it has any.

    ``meter`` draws it as a part of a whole.
    """

    figure: str | int | float
    label: str
    noise: str = ""
    meter: Meter | None = None


class Tiles(NamedTuple):
    """The figures that are seen first."""

    tiles: tuple[Tile, ...]


class Status(NamedTuple):
    """A cell that says how something stands.

    ``name`` is "checked", "stated", "not checked" or "attention", ``text`` its word.
    """

    name: str
    text: str


class Link(NamedTuple):
    """A cell that leads to an address: of the web, of mail, or of a file beside the report."""

    text: str
    address: str


Cell = str | int | float | Status | Link | None


class Paragraph(NamedTuple):
    """A paragraph; ``style`` is "lead" for the sentence that counts, "small" for an aside.

    "looks" explains the looks of a page, and stands on pages alone. A link comes before the text,
    which is said of it.
    """

    text: str
    style: str = ""
    link: Link | None = None


class Heading(NamedTuple):
    """A heading inside a section, with what it leads to; ``name`` is that of its table."""

    text: str
    link: Link | None = None
    name: str = ""


class Table(NamedTuple):
    """A table; its first column names the rows, and ``numbers`` are the places of figures.

    ``name`` is unique in a document, and safe in an id.
    """

    name: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: tuple[int, ...] = ()


class FigureColumn(NamedTuple):
    """A column of a published table, with a remark that holds for each of its figures."""

    name: str
    description: str
    number: bool
    remark: str = ""


class Figure(NamedTuple):
    """A published figure, what the noise does to it, and whether it is flagged.

    ``pale`` is how many of its last letters are worth no more than the noise. A name is no number.
    """

    figure: str
    noise: str = ""
    flag: str = ""
    pale: int = 0
    number: bool = True


class FigureTable(NamedTuple):
    """The beginning of a published table: ``keys`` columns of names, then figures.

    The heading before it has its name; a caption says what more there is, "" where it is whole.
    """

    name: str
    caption: str
    head: tuple[FigureColumn, ...]
    keys: int
    rows: tuple[tuple[Figure, ...], ...]


class Definitions(NamedTuple):
    """Labels, and what is said of each."""

    rows: tuple[tuple[str, str | int | float], ...]


class FactsLabel(NamedTuple):
    """A label of fixed form: pairs of a name and what is so, headings, and a meter.

    ``file`` has it as a picture; "" if none does.
    """

    title: str
    rows: tuple[tuple[str, str] | Heading | Paragraph | Meter, ...]
    file: str = ""


class Details(NamedTuple):
    """Parts that may be folded up under a title, which ``name`` comes before if there is one."""

    title: str
    parts: tuple[Part, ...]
    name: str = ""


class Group(NamedTuple):
    """Parts that belong together, and how they are laid out where there is room.

    "overview" a broad and a narrow one, "pair" side by side, "charts" over the whole width,
    "told" a table of estimates and its chart; "" no other way than alone.
    """

    layout: str
    parts: tuple[Part, ...]


Part = (
    Heading
    | Paragraph
    | Bullets
    | Tiles
    | Table
    | FigureTable
    | Definitions
    | FactsLabel
    | Details
    | Group
    | Chart
    | HeatTable
)


class Section(NamedTuple):
    """A section; ``short`` is its title in a table of contents, "" where it is not listed there.

    One that is folded shows its title alone until a reader opens it.
    """

    name: str
    title: str
    short: str
    parts: tuple[Part, ...]
    folded: bool = False


class Document(NamedTuple):
    """A report, or the page of a plan: ``form`` says which, ``kind`` says it in a sentence.

    ``linked_data`` is JSON-LD that says the same to programs. ``mark`` is said before all else, and
    stays in view. ``run`` stands on each sheet of paper.
    """

    title: str
    form: str
    kind: str
    basics: tuple[tuple[str, str | Link], ...]
    sections: tuple[Section, ...]
    origin: str
    linked_data: str = ""
    mark: str = ""
    run: str = ""


def iter_charts(document: Document) -> Iterator[Chart | HeatTable]:
    """Give every chart of a document."""
    for section in document.sections:
        yield from _iter_charts(section.parts)


def _iter_charts(parts: tuple[Part, ...]) -> Iterator[Chart | HeatTable]:
    for part in parts:
        if isinstance(part, Chart | HeatTable):
            yield part
        elif isinstance(part, Details | Group):
            yield from _iter_charts(part.parts)
