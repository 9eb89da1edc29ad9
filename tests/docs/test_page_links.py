"""Nothing in the documentation points to what is not there."""

import re

import build_site
import pytest
from doc_pages import DOCS, PAGES, README, ROOT, Page
from thorough import for_each

LANGUAGES = {"console", "toml", "python", "text", "yaml"}  # each is held by a test
LINK = re.compile(r'\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"')
REPOSITORY = re.compile(r"https://github\.com/dprelease/dprelease/(?:blob|tree)/main/([^#]+)")
PATH = re.compile(r"`((?:dprelease|tests|benchmarks|release_specs|sample_data)/[^`\s]+)`")


def targets(page: Page) -> list[str]:
    """Every target of a link or a picture."""
    return [first or second for first, second in LINK.findall(page.prose)]


def leads_somewhere(target: str, page: Page) -> bool:
    """Whether a target exists, as far as that can be told without a network."""
    if source := REPOSITORY.fullmatch(target):
        return (ROOT / source[1]).exists()
    if target.startswith("https://"):
        return True
    name, _, anchor = target.partition("#")
    path = (page.path.parent / name).resolve() if name else page.path
    if page is not README and not path.is_relative_to(DOCS):
        return False  # the site holds nothing else
    if path.is_relative_to(DOCS) and path.relative_to(DOCS).as_posix() in build_site.made():
        return True  # when the site is built
    if path.is_dir():
        return page is README
    has_anchor = path.suffix != ".md" or not anchor or anchor in Page(path).anchors
    return path.is_file() and has_anchor


def broken(page: Page) -> list[str]:
    """Targets that are not there."""
    return [target for target in targets(page) if not leads_somewhere(target, page)]


@for_each("page", PAGES)
def test_every_link_has_a_target(page):
    assert broken(page) == []


def test_there_are_links_to_try():
    assert len(targets(README)) > 10
    assert sum(len(targets(page)) for page in PAGES) > 100


@pytest.mark.parametrize(
    "text",
    [
        "[a](nowhere.md)",
        "# A\n[a](#b)",
        "![a](pictures/none.svg)",
        '<img src="pictures/none.svg">',
        "[a](index.md#nothing-of-that-name)",
        "[a](../README.md)",
        "[a](gallery/nothing/report.html)",
        "[a](https://github.com/dprelease/dprelease/blob/main/nowhere.py)",
    ],
)
def test_a_broken_link_is_seen(text, monkeypatch):
    monkeypatch.setattr(Page, "text", text)
    assert broken(Page(DOCS / "index.md"))


@for_each("page", PAGES)
def test_every_path_in_code_marks_exists(page):
    assert [path for path in PATH.findall(page.prose) if not (ROOT / path).exists()] == []


@for_each("page", PAGES)
def test_every_block_is_of_a_language_that_is_tested(page):
    assert {block.language for block in page.blocks()} <= LANGUAGES
    assert page.text.count("```") == 2 * len(page.blocks())


@for_each("page", PAGES)
def test_lines_are_short_enough_to_read(page):
    long = [
        number
        for number, line in enumerate(page.text.splitlines(), 1)
        if len(LINK.sub("", line)) > 110 and not line.startswith("|") and "  hint: " not in line
    ]
    assert long == []
