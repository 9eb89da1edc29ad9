"""Every paper that the code names is among the sources, and the glossary is in order."""

import re

from doc_pages import ROOT, page

# An author, perhaps others, and a year: "Bun and Steinke 2016", "Wang et al. 2016".
NAME = r"[A-Z][A-Za-zäöü]+"
CITED = re.compile(rf"\b({NAME}(?:(?:, and|,| and) {NAME})*)(?: et al\.)? \(?((?:19|20)\d\d)\b")
ARXIV = re.compile(r"\b\d{4}\.\d{5}\b")
NO_AUTHORS = {"Schema"}  # the JSON Schema of a year


def papers(text: str) -> list[tuple[list[str], str]]:
    """The authors and the year of each paper that a text names."""
    plain = " ".join(text.replace("#", " ").split())
    cited = [(re.findall(NAME, names), year) for names, year in CITED.findall(plain)]
    return [(names, year) for names, year in cited if names[0] not in NO_AUTHORS]


def test_every_paper_that_the_code_names_is_a_source():
    sources = page("explanation/sources.md").text
    told = {(name, year) for names, year in papers(sources) for name in names}
    numbers = set(ARXIV.findall(sources))
    assert len(told) > 20
    for file in sorted((ROOT / "dprelease").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        assert {(names[0], year) for names, year in papers(text)} <= told, file
        assert set(ARXIV.findall(text)) <= numbers, file


def test_the_glossary_is_in_order():
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", page("reference/glossary.md").text, re.MULTILINE)
    terms = [term.lower() for term in rows[1:]]
    assert len(terms) > 40
    assert terms == sorted(set(terms))
