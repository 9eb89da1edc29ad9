"""The gallery has every example's report, and the build of the site leaves nothing else behind."""

import os
import re
import shutil
import subprocess
import sys

import build_site
import pytest
from doc_pages import ROOT, page

GALLERY = page("gallery/index.md")


def test_every_example_is_in_the_gallery_once_with_a_sentence():
    sections = GALLERY.text.split("\n## ")[1:]
    names = [re.search(r"\[The report\]\((\w+)/report\.html\)", part)[1] for part in sections]
    assert sorted(names) == [spec.stem for spec in build_site.SPECS]
    for name, section in zip(names, sections, strict=True):
        _, sentence, links, *_ = section.split("\n\n")
        assert sentence.endswith(".")
        assert f"[its spec]({name}/spec.toml.txt)" in links


def test_a_dead_link_of_the_site_is_seen(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "index.html").write_text("<a href='x'></a>")
    (tmp_path / "a b.png").touch()
    (tmp_path / "index.html").write_text(
        '<a href="there/#x"><a href="gone/"><img src="a%20b.png"><img src="no.png">'
        '<a href="https://example.org/"><a href="#x"><a href="mailto:a@b">'
    )
    assert sorted(build_site.broken(tmp_path)) == ["index.html: gone/", "index.html: no.png"]


@pytest.mark.thorough
def test_the_site_is_built_with_live_reports_and_without_traces(tmp_path):
    pytest.importorskip("zensical")
    for part in ("docs", "release_specs", "sample_data", "dprelease"):
        shutil.copytree(ROOT / part, tmp_path / part,
                        ignore=shutil.ignore_patterns("*.sqlite*", "__pycache__"))  # fmt: skip
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "docs" / "__pycache__").mkdir()
    (tmp_path / "docs" / "__pycache__" / "build_site.pyc").write_text("left by an import\n")
    before = {file for file in tmp_path.rglob("*") if file.is_file()}
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, tmp_path / "docs" / "build_site.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "site"
    new = {file for file in tmp_path.rglob("*") if file.is_file()} - before
    assert [f for f in new if not f.is_relative_to(site) and ".cache" not in f.parts] == []
    assert all((site / file).is_file() for file in build_site.made())
    assert not [file for file in new if "sqlite" in file.name or file.suffix in {".py", ".pyc"}]
    for spec in build_site.SPECS:
        report = (site / "gallery" / spec.stem / "report.html").read_text(encoding="utf-8")
        assert '<meta name="generator" content="dprelease">' in report
        assert str(tmp_path) not in report
