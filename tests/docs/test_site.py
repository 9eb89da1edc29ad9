"""The site's configuration names every page, and nothing on a page asks another host."""

import itertools
import re

import yaml
from doc_pages import DOCS, PAGES, README, ROOT

CONFIGURATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def navigation(entries):
    """The files of the navigation, in order."""
    for entry in entries:
        for value in [entry] if isinstance(entry, str) else entry.values():
            yield from [value] if isinstance(value, str) else navigation(value)


def test_every_page_is_in_the_navigation_once():
    files = list(navigation(CONFIGURATION["nav"]))
    assert sorted(files) == [
        page.path.relative_to(DOCS).as_posix() for page in PAGES if page is not README
    ]


def test_every_page_has_one_title_and_no_level_is_left_out():
    for page in PAGES:
        levels = [len(marks) for marks in re.findall(r"^(#+) ", page.prose, re.MULTILINE)]
        assert levels[0] == 1, page.name
        assert levels.count(1) == 1, page.name
        assert all(b <= a + 1 for a, b in itertools.pairwise(levels)), page.name


def test_nothing_is_loaded_from_elsewhere():
    assert CONFIGURATION["theme"]["font"] is False
    assert "repo_url" not in CONFIGURATION  # the theme would ask that host for stars
    for asset in CONFIGURATION["extra_javascript"] + CONFIGURATION["extra_css"]:
        assert (DOCS / asset).is_file()
    for page in PAGES:
        assert not re.search(r'(?:!\[[^\]]*\]\(|src(?:set)?=")https?:', page.prose), page.name
    for asset in DOCS.glob("assets/*"):
        assert not re.search(r"@import|https?:|fetch", asset.read_text(encoding="utf-8")), (
            asset.name
        )


def test_the_first_spec_of_the_readme_is_short():
    (spec,) = README.blocks("toml")
    assert spec.text.count("\n") == 12
