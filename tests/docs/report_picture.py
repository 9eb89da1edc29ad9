"""Draw the README's picture: the beginning of the main example's report, as Chromium shows it.

The noise comes from fixed bytes, so that the picture can be drawn again; a real release never
does that. The picture keeps a digest of the words that it shows, by which a test knows whether it
is still what the tool writes.

Run: python tests/docs/report_picture.py [chromium]        (rewrites docs/pictures/report.png)
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zlib
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

import dprelease
from dprelease.report.html import render_html
from dprelease.report.public import PublicReport

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "report.png"
SPEC = ROOT / "release_specs" / "clinic_visits.toml"
RELEASED_AT = "2026-01-15T09:30:00+00:00"
SIZE = (1120, 1620)
END = "<h3>Several together</h3>"
KEY = b"Words"


class FixedEntropy:
    """The same bytes in every run: for pictures and tests only."""

    def __init__(self) -> None:
        self.reads = 0

    def read(self, size: int) -> bytes:
        """The next bytes."""
        self.reads += 1
        return hashlib.shake_256(f"picture/{self.reads}".encode()).digest(size)


def page() -> str:
    """The report of the main example."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        result = dprelease.run(
            SPEC, ledger=folder / "ledger.sqlite", output=folder / "out", entropy=FixedEntropy()
        )
    report = result.report
    report["provenance"]["released_at"] = RELEASED_AT
    files = [each["file"] for each in report["tables"]]
    return render_html(PublicReport(report, dict(zip(files, result.output_tables, strict=True))))


def words(html: str) -> list[str]:
    """The words of a page, up to where the picture ends."""
    shown, found, _ = html.partition(END)
    if not found:
        raise ValueError(f"the report no longer holds: {END}")
    body = re.sub(r"<style>.*?</style>", " ", shown, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", body)).split()


def digest(html: str) -> bytes:
    """What the picture keeps of its words."""
    return hashlib.sha256(" ".join(words(html)).encode()).hexdigest().encode()


def kept(picture: bytes) -> bytes:
    """The digest in a picture."""
    found = re.search(rb"tEXt" + KEY + rb"\x00([0-9a-f]{64})", picture)
    return found[1] if found else b""


def with_digest(picture: bytes, told: bytes) -> bytes:
    """A PNG with a text chunk after its header."""
    content = b"tEXt" + KEY + b"\x00" + told
    chunk = (len(content) - 4).to_bytes(4) + content + zlib.crc32(content).to_bytes(4)
    return picture[:33] + chunk + picture[33:]


def draw(browser: str) -> bytes:
    """The picture, by a browser."""
    html = page()
    with TemporaryDirectory() as name:
        file, shot = Path(name) / "report.html", Path(name) / "report.png"
        file.write_text(html, encoding="utf-8")
        size = ",".join(map(str, SIZE))
        options = ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}")
        subprocess.run([browser, *options, f"--screenshot={shot}", file.as_uri()], check=True)
        return with_digest(shot.read_bytes(), digest(html))


if __name__ == "__main__":
    PICTURE.write_bytes(draw(*(sys.argv[1:] or ["chromium"])))
