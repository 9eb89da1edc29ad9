"""Draw the pictures of the documentation: parts of the examples' reports, as Chromium shows them.

The noise comes from fixed bytes, so that a picture can be drawn again; a real release never does
that. A picture keeps a digest of the words that it shows, by which a test knows whether it is still
what the tool writes.

Run: python tests/docs/report_picture.py [chromium]        (rewrites docs/pictures/*.png)
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zlib
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

import dprelease
from dprelease.reports.model.json_form import read_report_json
from dprelease.reports.report_formats import render_report

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "docs" / "pictures"
RELEASED_AT = "2026-01-15T09:30:00+00:00"
KEY = b"Words"


@dataclass(frozen=True)
class Picture:
    """A part of the report of an example: from ``start`` (None: the top) up to ``end``."""

    name: str
    spec: str
    start: str | None
    end: str
    size: tuple[int, int]
    beside: tuple[tuple[str, str], ...] = ()  # more parts, to the right: their starts and ends
    dark: bool = False

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return PLACE / f"{self.name}.png"


def _section(name: str) -> str:
    return f'<section aria-labelledby="{name}">'


TOLD = "<h3>What answers.csv tells</h3>"
LAYOUT = """<!doctype html><meta charset="utf-8"><style>
main { padding-top: 32px } main h2 { margin-top: 0 !important }
.tiles { grid-template-columns: 1fr 1fr !important } figure { margin-top: 20px !important }
</style>"""
MARK = "<!-- the end of the picture -->"
FIRST, FIRST_DARK = (
    Picture(
        name, "clinic_visits", _section("guarantee"), MARK, (1120, 540), dark=dark,
        beside=(
            ('<table class="w22" aria-labelledby="table-2">', "</div>"),
            ('<figure class="chart" id="chart-2-1">', '<p class="small">'),
        ),
    )
    for name, dark in (("report", False), ("report-dark", True))
)  # fmt: skip
GALLERY = (
    Picture("figures", "clinic_visits", _section("tables"), _section("reading"), (1120, 1000)),
    Picture("census", "adult_census", _section("tables"), _section("reading"), (1120, 1000)),
    Picture("price", "best_price", _section("tables"), _section("reading"), (1120, 760)),
    Picture("budget", "clinic_weights", _section("budget"), _section("data"), (1120, 1000)),
    Picture("records", "clinic_records", TOLD, _section("guarantee"), (1120, 1000)),
    Picture("noise", "clinic_gaussian", _section("noise"), _section("budget"), (1120, 1000)),
)
PICTURES = (FIRST, FIRST_DARK, *GALLERY)


class FixedEntropy:
    """The same bytes in every run: for pictures and tests only."""

    def __init__(self) -> None:
        self.reads = 0

    def read(self, size: int) -> bytes:
        """The next bytes."""
        self.reads += 1
        return hashlib.shake_256(f"picture/{self.reads}".encode()).digest(size)


def page(picture: Picture) -> str:
    """The report of an example, as much of it as the picture is of."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        result = dprelease.run(
            ROOT / "release_specs" / f"{picture.spec}.toml",
            ledger=folder / "ledger.sqlite",
            output=folder / "out",
            entropy=FixedEntropy(),
        )
    report = result.report
    report["provenance"]["released_at"] = RELEASED_AT
    report["ledger"]["history"] = [
        each | {"at": RELEASED_AT} for each in report["ledger"]["history"]
    ]
    files = [each["file"] for each in report["tables"]]
    tables = dict(zip(files, result.output_tables, strict=True))
    return part(
        render_report(read_report_json(report), tables, ["html"])["report.html"].decode(), picture
    )


def part(html: str, picture: Picture) -> str:
    """A page from the picture's start on."""
    if picture.start is None:
        return html
    above, found, below = html.partition(picture.start)
    head, body, _ = above.partition("<main")
    if not found or not body:
        raise ValueError(f"the report no longer holds: {picture.start}")
    if picture.beside:
        rest = below.partition("<p>The size of the noise")[0]
        more = "".join(between(html, *ends) for ends in picture.beside)
        found, below = (
            "",
            f'<div class="pair"><div>{found}{rest}</div><div>{more}</div></div>{MARK}',
        )
        head = f"{LAYOUT}{head[head.index('<style') :]}"
    # A picture shows what a reader would unfold.
    below = below.replace("<details>", "<details open>")
    return f'{head[: head.index("<body")]}<body><main class="wide">{found}{below}'


def between(html: str, start: str, end: str) -> str:
    """A piece of a page, with its start and without its end."""
    _, found, below = html.partition(start)
    if not found or end not in below:
        raise ValueError(f"the report no longer holds: {start}")
    return found + below.partition(end)[0]


def words(html: str, picture: Picture) -> list[str]:
    """The words of a page, up to where the picture ends."""
    shown, found, _ = html.partition(picture.end)
    if not found:
        raise ValueError(f"the report no longer holds: {picture.end}")
    body = re.sub(r"<style>.*?</style>", " ", shown, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", body)).split()


def digest(html: str, picture: Picture) -> bytes:
    """What the picture keeps of its words."""
    return hashlib.sha256(" ".join(words(html, picture)).encode()).hexdigest().encode()


def kept(picture: bytes) -> bytes:
    """The digest in a picture."""
    found = re.search(rb"tEXt" + KEY + rb"\x00([0-9a-f]{64})", picture)
    return found[1] if found else b""


def with_digest(picture: bytes, told: bytes) -> bytes:
    """A PNG with a text chunk after its header."""
    content = b"tEXt" + KEY + b"\x00" + told
    chunk = (len(content) - 4).to_bytes(4) + content + zlib.crc32(content).to_bytes(4)
    return picture[:33] + chunk + picture[33:]


def draw(picture: Picture, browser: str) -> bytes:
    """The picture, by a browser."""
    html = page(picture)
    with TemporaryDirectory() as name:
        file, shot = Path(name) / "report.html", Path(name) / "report.png"
        file.write_text(html, encoding="utf-8")
        size = ",".join(map(str, picture.size))
        options = ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}",
                   f"--blink-settings=preferredColorScheme={0 if picture.dark else 1}")  # fmt: skip
        subprocess.run([browser, *options, f"--screenshot={shot}", file.as_uri()], check=True)
        return with_digest(shot.read_bytes(), digest(html, picture))


if __name__ == "__main__":
    for each in PICTURES:
        each.file.write_bytes(draw(each, *(sys.argv[1:] or ["chromium"])))
