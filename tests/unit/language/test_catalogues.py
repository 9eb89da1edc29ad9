"""The catalogues hold every sentence of a report by one id, with the same values; and none else."""

import ast
import re
from collections.abc import Iterator
from string import Formatter

import pytest
from product_source import (
    FILES,
    PACKAGE,
    get_module_name,
    list_nodes,
    parse_module,
    parse_source,
    read_source,
    write_dotted,
)

from dprelease.language import ENGLISH, LANGUAGES, load_catalogue
from dprelease.statistics.statistic_registry import STATISTICS

PLACES = {"say": 0, "say_count": 1, "sentence": 0, "build_counted_sentence": 1, "Sentence": 0}
"""Where an id stands among the arguments."""
COUNTING = {"say_count", "build_counted_sentence"}
FORMS = (".one", ".many")
OTHERS = [language for language in LANGUAGES if language != ENGLISH]


def speaking_files() -> Iterator[tuple[str, ast.AST]]:
    """Files that import what words a sentence, or names one."""
    for file in FILES:
        if file.parent.name != "language" and re.search(
            "from dprelease.(language|model.sentences) import", read_source(file)
        ):
            yield get_module_name(file), parse_module(file)


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call, ast.expr]]:
    """Calls that word or name a sentence: the function, the call, and the id as it is given."""
    for node in list_nodes(tree):
        if isinstance(node, ast.Call) and (name := write_dotted(node.func)) in PLACES:
            yield name, node, node.args[PLACES[name]]


def alternatives(given: ast.expr) -> Iterator[ast.expr]:
    """The ids that an expression chooses between."""
    if isinstance(given, ast.IfExp):
        yield from (*alternatives(given.body), *alternatives(given.orelse))
    elif isinstance(given, ast.BoolOp):
        yield from (each for value in given.values for each in alternatives(value))
    else:
        yield given


def keys_of(name: str, given: ast.expr) -> Iterator[str]:
    """The literal ids of a call; both forms of a sentence that counts."""
    for each in alternatives(given):
        if isinstance(each, ast.Constant):
            yield from (f"{each.value}{form}" for form in (FORMS if name in COUNTING else ("",)))


def values_in(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def missing_values(tree: ast.AST) -> Iterator[str]:
    """Ids that no catalogue has, and values of a sentence that a call does not give."""
    entries = load_catalogue(ENGLISH)
    for name, call, given in calls(tree):
        values = {"n"} if name in COUNTING else set()
        values |= {keyword.arg or "**" for keyword in call.keywords}
        for key in keys_of(name, given):
            if key not in entries:
                yield f"{call.lineno}: {key}"
            elif "**" not in values and (missing := values_in(entries[key]) - values):
                yield f"{call.lineno}: {key} {sorted(missing)}"


def made_up(tree: ast.AST) -> Iterator[str]:
    """Ids that are neither literal nor named: nobody could tell whether a catalogue has them."""
    for _, call, given in calls(tree):
        for each in alternatives(given):
            if not isinstance(each, ast.Constant | ast.Name | ast.Attribute | ast.Subscript):
                yield f"{call.lineno}: {ast.unparse(each)}"


def test_every_language_has_the_same_sentences_with_the_same_values() -> None:
    english = {key: values_in(text) for key, text in load_catalogue(ENGLISH).items()}
    for language in OTHERS:
        other = {key: values_in(text) for key, text in load_catalogue(language).items()}
        assert other == english, language


def test_code_gives_the_values_of_sentences_that_there_are() -> None:
    found = [f"{file}:{each}" for file, tree in speaking_files() for each in missing_values(tree)]
    assert found == []


def test_every_sentence_is_used() -> None:
    texts = {
        node.value
        for file in FILES
        if file.parent.name != "language"
        for node in list_nodes(parse_module(file))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    unused = [
        key
        for key in load_catalogue(ENGLISH)
        if key not in texts and key.removesuffix(FORMS[0]).removesuffix(FORMS[1]) not in texts
    ]
    assert unused == []


def test_ids_are_literal_or_named() -> None:
    assert [f"{file}:{each}" for file, tree in speaking_files() for each in made_up(tree)] == []


@pytest.mark.parametrize(
    "source", ['say(f"words.{n}")', 'say("words." + b)', "say_count(n, one())"]
)
def test_an_id_that_is_made_up_is_seen(source: str) -> None:
    assert list(made_up(parse_source(source)))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('say("words.recrods")', ["1: words.recrods"]),
        ('say("words.more", numbr=1)', ["1: words.more ['number']"]),
        ('say("words.rows" if people else "words.nobody")', ["1: words.nobody"]),
        ('say_count(n, "words.rows")', ["1: words.rows.one", "1: words.rows.many"]),
        ('say_count(n, "words.rows_counted")\nsay(name)\nsay("words.more", **all)', []),
    ],
)
def test_a_call_that_no_catalogue_can_serve_is_seen(source: str, found: list[str]) -> None:
    assert list(missing_values(parse_source(source))) == found


def test_the_catalogues_have_what_every_statistic_says_of_itself() -> None:
    """Also where it is no literal of ``say``, but an id that is said by a name."""
    held = load_catalogue(ENGLISH)
    for statistic in STATISTICS.values():
        keys = [statistic.what, statistic.counts, statistic.processing, statistic.reading]
        keys += [statistic.explained, statistic.example_error, statistic.example_error_weighted]
        if statistic.hazard is not None:
            keys += [statistic.hazard.title.key, statistic.hazard.note.key]
        assert [key for key in keys if key and key not in held] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalogue_is_in_order_and_each_sentence_a_line(language: str) -> None:
    lines = (PACKAGE / "language" / f"{language}.toml").read_text("utf-8").splitlines()
    assert lines[0].startswith("# ")
    section, keys = "", []
    for line in filter(None, lines[1:]):
        if line.startswith("["):
            section = line.strip("[]")
        else:
            keys.append(f"{section}.{line.partition(' = ')[0]}")
    assert keys == sorted(keys, key=lambda key: key.split("."))
    assert keys == list(load_catalogue(language))


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_begin_and_end_alike(language: str) -> None:
    for key, text in load_catalogue(language).items():
        assert text.strip(), key
        english = load_catalogue(ENGLISH)[key]
        assert (text[-1:] == " ") == (english[-1:] == " "), key
        assert not re.search(" [,.]", text), key


def test_marks_stand_apart_in_french() -> None:
    for french in load_catalogue("fr").values():
        words = re.sub(r"\{[^}]*\}", "x", french)
        assert re.findall(r"(?<!\u202f)[:;?!%»]|«(?!\u202f)", words) == [], french
