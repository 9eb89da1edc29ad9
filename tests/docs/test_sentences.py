"""The pages are read by people in a hurry: no sentence is longer than 35 words."""

import re

from doc_pages import PAGES, README, Page
from thorough import for_each

MOST_WORDS = 35


def paragraphs(page: Page) -> list[str]:
    """Paragraphs, items of lists, cells of tables and headings, each on one line."""
    text = re.sub(r"<!--.*?-->|</?[a-z][^>]*>", "", page.prose, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)  # a link counts as its words
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        for part in re.split(r"^\s*(?:[-*#>]+|\d+\.) |\|", block, flags=re.MULTILINE):
            parts.append(" ".join(part.split()))
    return [part for part in parts if part]


def sentences(paragraph: str) -> list[str]:
    """A paragraph cut after each full stop, question mark and exclamation mark."""
    plain = re.sub(r"`[^`]*`", "code", paragraph)
    return re.split(r"(?<=[.?!])[*_)\"]*\s+", plain)


def too_long(page: Page) -> list[str]:
    """The sentences with more words than a reader keeps in mind."""
    return [
        sentence
        for paragraph in paragraphs(page)
        for sentence in sentences(paragraph)
        if len(re.findall(r"\w[\w'.,-]*", sentence)) > MOST_WORDS
    ]


@for_each("page", PAGES)
def test_sentences_are_short(page):
    assert too_long(page) == []


def test_a_long_sentence_is_seen(monkeypatch):
    words = "word " * MOST_WORDS
    for text, fits in {f"A {words}": False, f"{words}\n\n{words}": True, f"{words}. A.": True,
                       f"| {words} | {words} |": True, f"- {words}\n  and": False,
                       f"- {words}\n- {words}": True}.items():  # fmt: skip
        monkeypatch.setattr(Page, "text", text)
        assert (too_long(Page(README.path)) == []) is fits, text
