"""Reports in a language whose every letter is marked: a word that is not marked is not said.

What stands unmarked otherwise are names of the spec, words of programs, and what is listed here.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from html import unescape
from pathlib import Path
from string import Formatter

import pytest
import tomli
from msgspec.structs import replace

import dprelease
from dprelease import language
from dprelease.errors import Complaint
from dprelease.language import word
from dprelease.reports.facts.explanations import OF_SPEC, word_warnings
from dprelease.reports.rerender import rerender

ROOT = Path(__file__).parents[3]
SPECS = sorted(path.stem for path in (ROOT / "release_specs").glob("*.toml"))
WIDE = str.maketrans({chr(code): chr(code + 0xFEE0) for code in (*range(65, 91), *range(97, 123))})
OWN = re.compile(r"`[^`]*`|\w*[_.]\w+|[A-Za-z]+")
"""What of a sentence is no word: names of files, columns and commands."""

TITLES = {"csv", "overall", "parquet", "rho", "suppressed"}
"""Words of titles that are the same in every language: names of files, flags, a symbol."""
ENGLISH = re.compile(
    # behind a value that stands in a command
    r"^(it computes frequencies|means and cross tables from|and nothing else)"
)


class Marked(dict[str, str]):
    def __init__(self) -> None:
        super().__init__({key: marked(text) for key, text in language.load_catalogue("en").items()})


def marked(template: str) -> str:
    """A sentence of which each letter is a wide one."""
    parts = []
    for text, name, spec, conversion in Formatter().parse(template):
        wide = OWN.sub(lambda m: m[0].translate(WIDE) if m[0].isalpha() else m[0], text)
        parts.append(wide.replace("{", "{{").replace("}", "}}"))
        if name is not None:
            ends = f"!{conversion}" if conversion else "", f":{spec}" if spec else ""
            parts.append(f"{{{name}{''.join(ends)}}}")
    return "".join(parts)


def unmarked(page: str, known: set[str]) -> list[str]:
    """Runs of three words or more that are not marked, and not in the spec."""
    page = re.sub(r"<(style|script).*?</\1>", " ", page, flags=re.DOTALL)
    lines = unescape(re.sub(r"<[^>]*>", "\n", page)).splitlines()
    runs = [run for line in lines for run in re.findall(r"[A-Za-z']+(?: [A-Za-z']+){2,}", line)]
    return [
        run for run in runs
        if not ENGLISH.search(run)
        and not all(any(name.startswith(word) for name in known) for word in run.split())
    ]  # fmt: skip


def unmarked_titles(page: str, known: set[str]) -> list[str]:
    """Words of captions and headings, one by one, that are not marked, and not in the spec."""
    titles = re.findall(r"<(?:caption|h[1-6])\b[^>]*>(.*?)</(?:caption|h[1-6])>", page, re.DOTALL)
    words = re.findall(r"\b[A-Za-z]{3,}\b", unescape(re.sub(r"<[^>]*>", " ", " ".join(titles))))
    return [word for word in words if word not in known]


def release_in(name, spoken, folder, entropy):
    release = dprelease.load(ROOT / "release_specs" / f"{name}.toml")
    release = replace(release, report_language=spoken)
    return dprelease.run(
        release, ledger=folder / "ledger.sqlite", output=folder / "out", entropy=type(entropy)(name)
    )


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", SPECS)
def test_no_english_sentence_is_left(name, tmp_path, monkeypatch, entropy):
    words = Marked()
    monkeypatch.setattr(language, "load_catalogue", lambda _: words)
    release_in(name, "de", tmp_path, entropy)
    known = set(re.findall(r"[A-Za-z']+", (ROOT / "release_specs" / f"{name}.toml").read_text()))
    known |= {word.strip("'") for word in known}  # texts of conditions are spelt without SQL
    known |= {"estimate", "json", "report", "x"}
    for file in ("report.html", "report.md"):
        text = (tmp_path / "out" / file).read_text()
        assert unmarked(text, known) == [], file
        said = [key for key in words if key in text]
        assert [key for key in said if re.search(rf"\b{key}\b(?!\w|\.)", text)] == []
    page = (tmp_path / "out" / "report.html").read_text()
    assert unmarked_titles(page, known | TITLES) == []


def test_an_english_sentence_would_be_seen():
    assert unmarked("<p>Each figure holds noise.</p>", {"noise"}) == ["Each figure holds noise"]
    assert unmarked_titles("<caption>Means</caption>", {"mean"}) == ["Means"]
    assert unmarked(f"<p>{marked('Each figure holds noise.')}</p>", set()) == []


@pytest.mark.parametrize(("spoken", "word"), [("de", "Rauschen"), ("fr", "bruit")])
def test_a_report_keeps_its_language_and_its_figures(spoken, word, tmp_path, entropy):
    english = release_in("best_price", "en", tmp_path / "en", entropy)
    other = release_in("best_price", spoken, tmp_path / spoken, entropy)
    for one, two in zip(english.output_tables, other.output_tables, strict=True):
        assert [column.values for column in one.columns] == [c.values for c in two.columns]
    out = tmp_path / spoken / "out"
    page = (out / "report.html").read_text()
    assert f'lang="{spoken}"' in page
    assert word in page
    assert rerender(str(out), "html").decode() == page
    facts = json.loads((out / "report.json").read_text())
    assert facts["language"] == spoken
    assert {row["status"] for row in facts["hazards"]} <= {
        "checked", "see", "stated", "not checked", "attention"
    }  # fmt: skip
    assert [query["statistic"] for query in facts["queries"]] == [
        query["statistic"] for query in english.report["queries"]
    ]


@pytest.fixture(autouse=True)
def _folders(tmp_path):
    for name in ("en", "de", "fr"):
        (tmp_path / name).mkdir()


@pytest.mark.parametrize(("spoken", "separator"), [("de", "."), ("fr", "\u202f")])
def test_numbers_and_marks_are_those_of_the_language(spoken, separator, tmp_path, entropy):
    result = release_in("clinic_visits", spoken, tmp_path, entropy)
    (numbers,) = (
        column.values
        for table in result.output_tables
        for column in table.columns
        if column.name == "visits_by_age"
    )
    page = unescape(re.sub("</?i>", "", (tmp_path / "out" / "report.html").read_text()))
    for number in numbers:
        if number >= 1000:
            assert f">{number:,}".replace(",", separator) in page
            assert f">{number:,}<" not in page
    assert re.findall(r">[^<>.]*?\b[0-9]+\.[0-9]{1,2}%?<|>1,000<", page) == []
    texts = re.findall(r"<text[^>]*>([^<]*:[^<]*)</text>", page)
    assert len(texts) >= 3  # what is spent of the ledger
    if spoken == "fr":
        assert [text for text in texts if re.search("(?<!\u202f):", text)] == []


def test_percentages_and_counts_are_those_of_german(tmp_path, entropy):
    release_in("every_statistic_rows", "de", tmp_path, entropy)
    page = unescape((tmp_path / "out" / "report.html").read_text())
    page = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    assert re.findall(r">[^<>]*[0-9]%", page) == []
    assert ">1 Wert<" in page
    assert "am nächsten an einem Wert, der auf 75 Ränge genau stimmt" in page
    assert "Es ist das Quantil 0,01, denn ein wahres Minimum ist" in page
    text = re.sub(r"<[^>]*>", " ", page)
    assert re.findall(r"[0-9]\.[0-9]{1,2} %|\(basic\)| or verschiedene", text) == []


def test_the_registry_s_entry_is_in_english(tmp_path, entropy):
    entries = {}
    for spoken in ("en", "de", "fr"):
        result = release_in("clinic_gaussian", spoken, tmp_path / spoken, entropy)
        assert ("registry" in result.report) == (spoken != "en")
        text = dprelease.report(tmp_path / spoken / "out", format="registry").text
        entries[spoken] = re.sub("publication_date: .*", "", text)
    assert entries["de"] == entries["fr"] == entries["en"]


def test_warnings_of_a_spec_are_told_in_the_language():
    release = dprelease.load(ROOT / "release_specs" / "clinic_visits.toml")
    warning = Complaint("W207", "a large delta: and more", key="query[1].delta")
    plan = dprelease.plan(replace(release, warnings=(warning,)))
    assert word_warnings(plan) == ("a large delta: and more",)
    with language.use_language("de"):
        (told,) = word_warnings(plan)
    assert told == f"query[1].delta: {language.load_catalogue('de')['warnings.large_delta']} (W207)"
    codes = tomli.loads((ROOT / "dprelease" / "codes.toml").read_text())
    of_specs = set(re.findall(r"\bW2\d\d\b", str(codes)))
    assert {f"W{number}" for number in OF_SPEC} == of_specs


def test_a_plan_is_the_same_in_every_language_and_worded_later(tmp_path):
    release = dprelease.load(ROOT / "release_specs" / "clinic_visits.toml")
    german = replace(release, report_language="de")
    plan = dprelease.plan(release)
    assert replace(dprelease.plan(german), release=release) == plan
    reasons = [step.sensitivity.derivation for step in plan.steps]
    assert "one record more or less changes one count by 1" in map(word, reasons)
    with language.use_language("de"):
        texts = [word(reason) for reason in reasons]
    assert "1 Datensatz mehr oder weniger ändert einen Wert (Anzahl) um 1" in texts
    low = replace(release.privacy, epsilon=Fraction(1, 1000))
    refused = []
    for each in (release, german):
        with pytest.raises(dprelease.Failure) as caught:
            dprelease.plan(replace(each, privacy=low))
        refused.append(str(caught.value))
    assert refused[0] == refused[1]
    assert "0.001" in refused[0]


@pytest.mark.parametrize(
    ("spoken", "step"), [("de", "ein Schritt von 0,01"), ("fr", "un pas de 0,01")]
)
def test_a_step_of_weights_has_the_comma_of_the_language(spoken, step):
    release = dprelease.load(ROOT / "release_specs" / "labour_survey.toml")
    plan = dprelease.plan(release)
    (median,) = (each for each in plan.steps if each.query.name == "median_pay")
    with language.use_language(spoken):
        assert word(median.sensitivity.derivation).endswith(step)
