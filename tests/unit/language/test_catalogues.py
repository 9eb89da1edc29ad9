"""The catalogues hold every sentence of a report, with the same values; and none but these."""

import ast
import re
from collections.abc import Iterator
from string import Formatter

import pytest
from product_source import FILES, PACKAGE, name_of, nodes, parsed, source_of

from dprelease.language import ENGLISH, LANGUAGES, catalogue
from dprelease.statistics.registry import STATISTICS

OTHERS = [language for language in LANGUAGES if language != ENGLISH]
SPEAKING = {"say": slice(0, 1), "template": slice(0, 1), "counted": slice(1, 3)}
OWN = ("cli", "spec", "diff", "ledger", "language")  # they speak English, or define what speaks
"""Folders with functions of their own by these names."""


def spoken_files() -> Iterator[tuple[str, ast.AST]]:
    for file in FILES:
        if file.relative_to(PACKAGE).parts[0] not in OWN:
            yield name_of(file), parsed(source_of(file))


def said(tree: ast.AST) -> Iterator[ast.expr]:
    """What is given to ``say``, ``counted`` and ``template`` as a sentence."""
    for node in nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from node.args[SPEAKING.get(node.func.id, slice(0, 0))]


def templates(tree: ast.AST) -> Iterator[str]:
    for sentence in said(tree):
        if isinstance(sentence, ast.Constant) and isinstance(sentence.value, str):
            yield sentence.value


def made_up(tree: ast.AST) -> Iterator[str]:
    """Sentences that are neither literal nor named: no catalogue could hold them."""
    for sentence in said(tree):
        if not isinstance(sentence, ast.Constant | ast.Name | ast.Attribute | ast.Subscript):
            yield f"{sentence.lineno}: {ast.unparse(sentence)}"


def values_of(template: str) -> set[str | None]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


@pytest.fixture(scope="module")
def sentences() -> set[str]:
    return {sentence for _, tree in spoken_files() for sentence in templates(tree)}


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_is_translated_and_no_other(language: str, sentences: set[str]) -> None:
    entries = catalogue(language)
    assert sentences - entries.keys() == set(), "not translated"
    assert entries.keys() - sentences == set(), "said nowhere"


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_values_of_its_sentence(language: str) -> None:
    for english, other in catalogue(language).items():
        assert values_of(english) == values_of(other), english
        ends = [
            (text[:1] == " ", text[-1:] == " ") for text in (english, other.replace("\u202f", " "))
        ]
        assert ends[0][1] == ends[1][1], english
        assert other.strip(), english


def test_sentences_are_literal() -> None:
    assert [f"{file}:{each}" for file, tree in spoken_files() for each in made_up(tree)] == []


@pytest.mark.parametrize(
    "source", ['say(f"{n} rows")', 'say("a " + b)', 'counted(n, one(), "rows")']
)
def test_a_sentence_that_is_made_up_is_seen(source: str) -> None:
    assert list(made_up(parsed(source)))


def test_the_search_sees_sentences() -> None:
    source = 'say("a {b}", b=1)\ncounted(n, "{n} row", "{n} rows")\nWORD = template("word")'
    assert set(templates(parsed(source))) == {"a {b}", "{n} row", "{n} rows", "word"}


@pytest.mark.parametrize("language", OTHERS)
def test_what_every_statistic_says_of_itself_is_in_the_catalogues(language: str) -> None:
    """Also where it is no literal of ``say``, but a text that is said by a name."""
    held = catalogue(language)
    for statistic in STATISTICS.values():
        texts = [statistic.processing, statistic.reading]
        if statistic.hazard is not None:
            texts += [statistic.hazard.title, statistic.hazard.note]
        assert [text for text in texts if text and text not in held] == []


@pytest.mark.parametrize("language", OTHERS)
def test_no_blank_stands_before_a_comma(language: str) -> None:
    assert [said for said in catalogue(language).values() if " ," in said or " ." in said] == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_is_in_alphabetical_order(language: str) -> None:
    file = PACKAGE / "language" / f"{language}.toml"
    title, *lines = file.read_text("utf-8").splitlines()
    assert title.startswith("# ")
    assert lines == sorted(lines, key=str.casefold)


def test_marks_stand_apart_in_french() -> None:
    for french in catalogue("fr").values():
        words = re.sub(r"\{[^}]*\}", "x", french)
        assert re.findall(r"(?<!\u202f)[:;?!%»]|«(?!\u202f)", words) == [], french
