"""Build the documentation's site: its pages, the gallery's live reports, and the JSON Schemas.

What the reference says of the code is put into its pages here: see ``build_reference``.

Run: python docs/build_site.py        (into site/)

It needs no network. Each example of release_specs is run with real noise, so its figures differ
from build to build. Its ledger goes with the temporary folder: the examples' data is made up, and
nobody's budget is spent. A warning of Zensical, or a link to what is not there, stops the build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

ROOT = Path(__file__).parents[1]
SITE = ROOT / "site"
SPECS = sorted((ROOT / "release_specs").glob("*.toml"))
SPEC_SCHEMA = "reference/spec.schema.json"
REPORT_SCHEMA = "reference/report.schema.json"
LINK = re.compile(r'(?:href|src)="([^"#?]+)')


def made() -> list[str]:
    """What the build adds to the pages and is not in docs/, by its path below the site."""
    examples = [
        f"gallery/{spec.stem}/{file}" for spec in SPECS for file in ("report.html", "spec.toml.txt")
    ]
    return [SPEC_SCHEMA, REPORT_SCHEMA, *examples]


def pages() -> None:
    """The pages, by Zensical. Raises CalledProcessError on a warning."""
    from build_reference import PARTS, fill

    zensical = Path(sysconfig.get_path("scripts")) / "zensical"
    command = [zensical, "build", "--strict", "--clean"]
    with TemporaryDirectory() as name:
        copy = Path(name)
        shutil.copyfile(ROOT / "mkdocs.yml", copy / "mkdocs.yml")
        shutil.copytree(ROOT / "docs", copy / "docs")
        for part in PARTS:
            page = copy / "docs" / "reference" / part
            page.write_text(fill(part, page.read_text(encoding="utf-8")), encoding="utf-8")
        subprocess.run(command, cwd=copy, check=True)  # noqa: S603
        shutil.rmtree(SITE, ignore_errors=True)
        shutil.move(copy / "site", SITE)


def schemas() -> None:
    """The JSON Schemas, beside the reference."""
    from dprelease.reports.model import json_form
    from dprelease.specfile.schema import json_schema

    (SITE / SPEC_SCHEMA).write_text(json_schema.schema_text(), encoding="utf-8")
    (SITE / REPORT_SCHEMA).write_text(json_form.schema_text(), encoding="utf-8")


def gallery() -> None:
    """Every example's release, as a run leaves it, with its spec."""
    import dprelease

    with TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("release_specs", "sample_data"):
            shutil.copytree(
                ROOT / part, folder / part, ignore=shutil.ignore_patterns("*.sqlite*", "*.py")
            )
        for spec in SPECS:
            output = folder / "out" / spec.stem
            dprelease.run(
                folder / "release_specs" / spec.name,
                ledger=folder / f"{spec.stem}.sqlite",
                output=output,
            )
            target = SITE / "gallery" / spec.stem
            shutil.copytree(output, target)
            shutil.copyfile(spec, target / "spec.toml.txt")  # a browser shows it as text
            print(f"gallery/{spec.stem}/report.html")


def broken(site: Path) -> Iterator[str]:
    """Links of the site's pages to files that it doesn't hold."""
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html":  # its links are those of the published site
            continue
        for link in set(LINK.findall(page.read_text(encoding="utf-8"))):
            if re.match(r"[a-z]+:|//", link):
                continue
            target = page.parent / unquote(unescape(link))
            if not (target.is_file() or (target / "index.html").is_file()):
                yield f"{page.relative_to(site)}: {link}"


def main() -> int:
    """Build all, and look where its links lead."""
    pages()
    schemas()
    gallery()
    if missing := list(broken(SITE)):
        print("links to nothing:", *missing, sep="\n  ", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
