"""Candidates from a file: the same as in the spec itself, with the file rules of keys."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dprelease.errors import Failure
from dprelease.ledger.identity import run_id
from dprelease.model import ColumnType
from dprelease.specfile import load

Q1 = 'statistic = "count"\nby = ["region"]\nepsilon = 0.4'
BEST = 'statistic = "best"\nscore = "salary * candidate"\nscore_upper = 1\n'
TEXTS = (
    'statistic = "best"\nscore = "CASE WHEN region = candidate THEN 1 ELSE 0 END"\n'
    "score_upper = 1\n"
)
MEDIAN = 'statistic = "median"\ncolumn = "salary"\n'
IN_FILE = "candidates_file = 'c.txt'"
MOST = 10**6

Load = Callable[..., Any]
Listing = Callable[..., None]


@pytest.fixture
def listing(tmp_path: Path) -> Listing:
    def write(content: str | bytes, name: str = "c.txt") -> None:
        made = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(made)

    return write


@pytest.mark.parametrize(
    ("query", "content", "inline"),
    [
        (BEST, "1\n2\n3", "[1, 2, 3]"),
        (BEST, "\ufeff1\r\n\r\n+2\r\n  \n -3\t\n", "[1, 2, -3]"),
        (BEST, "1.50\n2e1\n0007\n-0.5\n", "[1.50, 2e1, 7, -0.5]"),
        (BEST, "999999999999999999\n0\n", "[999_999_999_999_999_999, 0]"),
        (TEXTS, "north\n b c \né\n", '["north", " b c ", "é"]'),
        (TEXTS, '"01"\n"1"\n"say ""x"""\nsay "x"\n"a', '["01","1",\'say "x"\',"say x","\\"a"]'),
        (TEXTS, '"north"\n', '["north"]'),
        (MEDIAN, "20000\n15000\n\n3e4\n", "[20000, 15000, 30000]"),
    ],
)
def test_a_file_is_the_list_by_another_way(
    good: Load, listing: Listing, query: str, content: str, inline: str
) -> None:
    listing(content.replace('\nsay "x"\n', "\nsay x\n"))
    of_file = good((Q1, query + IN_FILE))
    of_list = good((Q1, f"{query}candidates = {inline}"))
    first, second = of_file.queries[0], of_list.queries[0]
    assert first == second
    assert first.candidates is not None or first.points is not None
    assert run_id(of_file) == run_id(of_list)


def test_the_type_is_that_of_the_values(good: Load, listing: Listing) -> None:
    for content, query, kind in (
        ("1\n2", BEST, ColumnType.INTEGER),
        ("1\n2.5", BEST, ColumnType.DECIMAL),
        ('"1"\n"2"', TEXTS, ColumnType.STRING),
    ):
        listing(content)
        assert good((Q1, query + IN_FILE)).queries[0].candidates.type is kind


def test_the_content_and_nothing_else_is_part_of_the_identity(good: Load, listing: Listing) -> None:
    listing("1\n2\n3\n")
    first = run_id(good((Q1, BEST + IN_FILE)))
    listing("1\n\n2\r\n3.0", "other.txt")
    again = good((Q1, BEST + IN_FILE), ('unit_description = "one employee"\n', ""))
    assert run_id(again) == first
    listing("01\n2\n+3", "other.txt")
    assert run_id(good((Q1, BEST + "candidates_file = 'other.txt'"))) == first
    listing("1\n2\n4\n")
    assert run_id(good((Q1, BEST + IN_FILE))) != first
    listing("1\n3\n2\n")  # the order decides which position is drawn
    assert run_id(good((Q1, BEST + IN_FILE))) != first


@pytest.mark.parametrize(
    ("query", "content", "code", "said", "hint"),
    [
        (BEST, None, "E112", "the candidates_file", "put it in"),
        (BEST, "", "E112", "holds no values", "one value per line"),
        (BEST, b"1\n\xff\n", "E112", "is not UTF-8", "UTF-8"),
        (BEST, "1\n2\n1.0\n", "E234", "line 3 of the candidates_file repeats an earlier one",
         "keep one"),
        (BEST, "1\n\nCANARY\n", "E234", "line 3 of the candidates_file is in a list of numbers",
         "all numbers or all texts"),
        (TEXTS, "CANARY\n2\n", "E234", "line 2 of the candidates_file is in a list of texts",
         "double quotes"),
        (TEXTS, "e\u0301\n\u00e9\n", "E234", "line 2 of the candidates_file repeats", "keep one"),
        (TEXTS, "CANARY\nCAN\x07ARY\n", "E234", "line 2 of the candidates_file can't be", "remove"),
        (TEXTS, "a\n" + "CANARY" * 200, "E234", "line 2 of the candidates_file can't", "shorten"),
        (TEXTS, 'a\n""\n', "E234", "line 2 of the candidates_file can't be a candidate", "name it"),
        (BEST, "1\n1e30\n", "E234", "line 2 of the candidates_file can't be", "below 10^18"),
        (BEST, "1\n" + "9" * 5000, "E234", "line 2 of the candidates_file can't be", "10^18"),
        (BEST, "1\n0.0000000000001\n", "E234", "line 2 of the candidates_file can't", "round it"),
        (MEDIAN, "15000\n1\n", "E234", 'line 2 of the candidates_file is outside the bounds of '
         '"salary"', "from 15000 to 120000"),
        (MEDIAN, "15000.5\n", "E234", "line 1 of the candidates_file is not a multiple",
         "step is 1"),
        (MEDIAN, "15000\n15000.0\n", "E234", "line 2 of the candidates_file is listed twice", ""),
        (MEDIAN, "CANARY\n", "E234", "line 1 of the candidates_file is not a number", "quotes"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file(
    complaints: Load,
    simple: str,
    listing: Listing,
    query: str,
    content: str | bytes | None,
    code: str,
    said: str,
    hint: str,
) -> None:
    if content is not None:
        listing(content)
    (found,) = complaints(simple.replace(Q1, query + IN_FILE))
    assert (found.code, found.key) == (code, "query[0].candidates_file")
    assert said in found.message
    assert hint in found.hint
    assert found.hint
    assert "CANARY" not in str(found)
    assert found.place.line in (33, 34)


# --- many ----------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_million_candidates_are_read_in_time(good: Load, listing: Listing) -> None:
    listing("".join(f"{number}\n" for number in range(MOST)))
    started = time.process_time()
    release = good((Q1, BEST + IN_FILE))
    assert len(release.queries[0].candidates.texts) == MOST
    identity = run_id(release)
    assert time.process_time() - started < 12  # 3 s on a quiet machine
    assert len(json.dumps(identity)) < 100


@pytest.mark.thorough
def test_more_are_refused_early(complaints: Load, simple: str, listing: Listing) -> None:
    listing(b"12345\n" * 10**7)
    tracemalloc.start()
    started = time.process_time()
    (found,) = complaints(simple.replace(Q1, BEST + IN_FILE))
    spent = time.process_time() - started
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.code, found.key) == ("E234", "query[0].candidates_file")
    assert found.message == "the candidates_file holds more than 1000000 values"
    assert "fewer" in found.hint
    assert "_file" not in found.hint  # they are in one already
    assert spent < 20
    assert most < 2**28


def test_a_file_without_lines_is_not_read_whole(
    complaints: Load, simple: str, tmp_path: Path
) -> None:
    with open(tmp_path / "c.txt", "wb") as stream:
        stream.truncate(2**40)  # zeros, and no room taken
    (found,) = complaints(simple.replace(Q1, BEST + IN_FILE))
    assert (found.code, found.message) == ("E112", "the candidates_file has a very long line")


@pytest.mark.thorough
def test_remedies_for_too_many_can_be_taken(simple: str, listing: Listing, tmp_path: Path) -> None:
    listing("".join(f"{number}\n" for number in range(400_000)))
    text = simple.replace(Q1, f'{BEST}by = ["region"]\n{IN_FILE}')
    (tmp_path / "spec.toml").write_text(text)
    with pytest.raises(Failure) as caught:
        load(tmp_path / "spec.toml")
    (found,) = caught.value.complaints
    assert (found.code, found.key) == ("E222", "query[0].by")
    assert "fewer candidates" in found.hint
    (tmp_path / "spec.toml").write_text(simple + "#" * 2**22)
    with pytest.raises(Failure) as caught:
        load(tmp_path / "spec.toml")
    assert "candidates_file" in caught.value.complaints[0].hint


def test_the_most_values_are_exactly_so_many(
    complaints: Load, good: Load, simple: str, listing: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dprelease.specfile.checks.columns.list_files.MAX_VALUES", 3)
    listing("1\n\n2\n3\n\n")
    assert good((Q1, BEST + IN_FILE)).queries[0].candidates.texts == ("1", "2", "3")
    listing("1\n2\n3\n4")
    (found,) = complaints(simple.replace(Q1, BEST + IN_FILE))
    assert found.message == "the candidates_file holds more than 3 values"
