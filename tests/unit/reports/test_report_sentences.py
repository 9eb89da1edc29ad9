"""What a report says of a release, and what it does not: a case is a line of the table below."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from report_specs import DELTA, PEOPLE, SELECTED, records_spec, spec

from dprelease.planning.planner import make_plan
from dprelease.reports.model.json_form import read_report_json
from dprelease.reports.sections.how_to_read import build_reading_section
from dprelease.specfile import load

Query = dict[str, Any]
READING, QUOTES, USE = "How to read the figures", "Sentences to quote", "Use these figures"
GUARANTEE, CHECKLIST = "The guarantee", "Privacy checklist (NIST SP 800-226)"
LABEL, NOISE, ERRATA = "Privacy facts", "How the noise was made", "Errors and corrections"
DATA, PROCESSING = "Data, bounds and groups", "What happens to the data before and after"


class Told(NamedTuple):
    """What a section says of queries of which every released integer is ``value``.

    ``section`` is a heading, the beginning of a row of a table, or "" for the whole report.
    ``changed`` is in what the spec differs; None takes a key away.
    """

    section: str
    queries: tuple[Query, ...]
    says: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    value: int = 0
    privacy: Mapping[str, Any] = {}
    changed: Mapping[str, Any] = {}
    perturb: tuple[Query, ...] = ()


COUNT: Query = {"name": "visits", "statistic": "count"}
VISITS: Query = COUNT | {"by": ["region"]}
MEAN: Query = {"name": "wait", "statistic": "mean", "column": "days"}
SUM: Query = {"name": "total", "statistic": "sum", "column": "days"}
MEDIAN: Query = {"name": "middle", "statistic": "median", "column": "days"}
MODE: Query = {"name": "first", "statistic": "mode", "column": "region"}
SHARE: Query = {"name": "urgent", "statistic": "proportion", "where": "urgent"}
UNITS: Query = {"name": "people", "statistic": "count_units"}
RATIO: Query = {"name": "q", "statistic": "ratio", "numerator": {"column": "days"},
                "denominator": {"column": "stars"}}  # fmt: skip
GAUSS: Query = COUNT | {"mechanism": "gaussian", "delta": 1e-5}
AGES: Query = {"name": "ages", "statistic": "histogram", "column": "age"}
DAYS: Query = {"name": "days", "statistic": "histogram", "column": "day"}
TITLED: Query = {"name": "stays", "statistic": "count", "title": "Stays", "unit": "stays"}
MORE_COLUMNS = {
    "columns": {
        "age": {"type": "integer"},
        "day": {"type": "date"},
        "place": {"type": "string", "keys": ["a", "b", "c", "d", "e"]},
    }
}
ELSEWHERE = {"columns": {"region": {"other": "elsewhere", "nulls": "elsewhere"}}}
WEIGHT = {
    "columns": {"weight": {"type": "integer", "lower": 0, "upper": 10, "source": "design"}},
    "data": {"weight": "weight"},
}
NAMED = {
    "columns": {
        "region": {"label": "Region of stay", "labels": {"north": "The North"}},
        "age": {"type": "integer", "label": "Age group"},
    }
}
CLINIC: Mapping[str, Any] = PEOPLE | {"unit_description": "one patient"}
REPLACED: Mapping[str, Any] = PEOPLE | {"adjacency": "replace-one"}
ONE_VISIT = {"unit_description": "one visit"}
TABLE: Query = {"columns": ["region", "days", "job", "urgent", "age"]}
QUOTED = f"## {QUOTES}"

RULES: dict[str, list[Told]] = {
    "only counts and sums are added up, and can be negative": [
        Told(READING, (MEDIAN, MODE), ("Do not add up figures of middle",),
             ("negative", "add the values", "totals released by another query")),
        Told(READING, (MEDIAN, MODE, VISITS),
             ("A count can be negative: noise was added to a small number.",
              "To combine cells of visits, add the values.")),
        # the count beside the mean
        Told(READING, (MEAN,), ("A count can be negative", "Do not add up figures of wait"),
             ("add the values",)),
        Told(READING, (SUM,), ("A sum of positive values can be negative",),
             ("A count can be negative",)),
    ],
    "shares are of the records of which the answer is known": [
        Told(READING, (SHARE,),
             ("Shares of urgent are of the records for which it is known whether",)),
    ],
    "an error is told at the records that were asked for": [
        Told("", (MEAN | {"epsilon": None, "accuracy": {"within": 2, "records": 5000}},),
             ("± 2 at 5,000 values with 0.95 certainty", " at 5,000 values |"),
             ("at 1,000 values",)),
    ],
    "the ranks of a quantile do not read as its unit": [
        Told("The figures", (MEDIAN,), ("| 0 (within 8 ranks) |",)),
        Told("| middle | median of days |", (MEDIAN,), ("within 8 ranks",)),
    ],
    "records of no group are in totals only": [
        Told(READING, (COUNT | {"name": "all"}, VISITS),
             ("Records without a listed value of region are in no row of the tables by it",)),
        Told(READING, (VISITS,), (), ("in no row",)),
        Told(READING, (COUNT | {"name": "all"}, VISITS), (), ("in no row",), changed=ELSEWHERE),
    ],
    "what one release is spent for is told with each epsilon": [
        Told(NOISE, (SUM | {"epsilon": Decimal("0.25")}, COUNT | {"epsilon": Decimal("0.125")}),
             ("are spent together, once: visits 0.125 and total 0.25.",
              # it has the noise of several numbers, so that `combine` knows no law of it
              "made of 3 noisy numbers of that release")),
        Told(READING, (SUM | {"epsilon": Decimal("0.25")}, COUNT | {"epsilon": Decimal("0.125")}),
             ("To combine cells of total, add the values.",)),
    ],
    "a person is all rows of a value": [
        Told(GUARANTEE, (VISITS,),
             ('for one person: one patient (all rows with the same value of "patient").',
              "a single person more than the other", 'several values of "patient"'),
             ("with several rows",), privacy=CLINIC),
        Told(GUARANTEE, (VISITS,),
             ('for one person: one "patient" (all rows with the same value of "patient").',),
             privacy=PEOPLE),
        Told("What that means for one person", (VISITS,),
             ("Belief about whether the person is in the table (epsilon 1)",
              "Belief about what the person's rows say, if they are in the table (epsilon 2)"),
             ("several rows",), privacy=PEOPLE),
    ],
    "people are replaced": [
        Told(GUARANTEE, (VISITS,),
             ("equally many people and differ in the rows of a single person",
              "The number of people of the table, which all neighbouring tables share."),
             privacy=REPLACED),
        Told("What that means for one person", (VISITS,),
             ("| belief before | Belief about what the person's rows say (epsilon 1) |",
              "| 50% | 26.89% to 73.11% |"), privacy=REPLACED),
    ],
    "beliefs are about the unit": [
        Told("What that means for one row", (VISITS,),
             ("A row is one visit. Somebody believes something of a row",
              "A person with several rows is protected less"), privacy=ONE_VISIT),
    ],
    "several together have beliefs and lose protection": [
        Told("What that means for one row", (VISITS,),
             ("| 1 | 1 | 0 | 73.11% | 88.08% |  |", "| 2 | 2 | 0 | 88.08% | 98.21% |  |",
              "| 5 | 5 | 0 | 99.34% | 99.9955% | no protection |",
              "| 10 | 10 | 0 | 99.9955% | 99.9999998% | no protection |")),
        Told("What that means for one row", (GAUSS,),
             ("| 2 | 2 | 3.719e-5 | 88.08% | 98.21% |  |",
              "| 5 | 5 | 0.0008579 | 99.34% | no bound | no protection |",
              "| 10 | 10 | 0.1282 | no bound | no bound | no protection |")),
    ],
    "bounding says what it may bias": [
        Told("What is left out of the data", (VISITS,),
             ("At most 4 rows", "at most 2 groups", "lower than the truth", "by lot",
              "not published", 'Rows without a value in "patient" are left out'), privacy=PEOPLE),
        Told("", (VISITS,), ("| people together |",), ("one row",), privacy=PEOPLE),
        Told("", (VISITS,), (), ("What is left out",)),
        Told("What is left out of the data", (VISITS,), ("taken for those of one person",),
             privacy=PEOPLE, changed={"columns": {"patient": {"type": "string", "nulls": "none"}}}),
        Told("| rows left out by bounding |", (MEAN,),
             ("counts are too low, and the rest can err either way",), privacy=PEOPLE),
    ],
    "the unit is a hazard that a description states": [
        Told(CHECKLIST, (VISITS,), ("| unit of privacy | attention |",),
             ("rows left out by bounding",)),
        Told(CHECKLIST, (VISITS,),
             ("| unit of privacy | stated |", "at most 4 rows in at most 2 groups"),
             privacy=CLINIC),
        Told(CHECKLIST, (VISITS,), ("| unit of privacy | attention |",), privacy=PEOPLE),
    ],
    "what nobody attested is not checked, and counted": [
        Told(CHECKLIST, (VISITS,),
             ("Not checked by anybody: 4.", "| side channels | not checked |",
              "| security and access | not checked |",
              "| data collection and minimisation | not checked |",
              "| staff who see the data | not checked |")),
    ],
    "a text of the reviewer states it, and says who": [
        Told(CHECKLIST, (VISITS,),
             ("Not checked by anybody: 3.",
              "| side channels | stated | A. Person states: a locked room |"),
             changed={"review": {"reviewer": "A. Person",
                                 "attestations": {"side_channels": "a locked room"}}}),
    ],
    "records over several lines rest on what nobody checks": [
        Told("", (VISITS,),
             ("| records over several lines | not checked |", "more than 1,234 lines",
              "- A CSV record has up to 1,234 lines", "| max_lines_per_record | 1234 |"),
             changed={"data": {"multiline": True, "max_lines_per_record": 1234}}),
        Told("", (VISITS,), (), ("max_lines_per_record", "records over several lines")),
    ],
    "the size of delta is judged": [
        Told(CHECKLIST, (VISITS,), ("| size of delta | ruled out | Delta is 0. |",)),
        Told(CHECKLIST, (VISITS,), ("| size of delta | ruled out | Delta is 0. |",),
             privacy={"population": 9}),
        Told(CHECKLIST, (GAUSS | {"delta": 1e-9},), ("| size of delta | to judge |",)),
        Told(CHECKLIST, (GAUSS | {"delta": 2e-9},), ("| size of delta | attention |",)),
        Told("| size of delta | attention |", (GAUSS,), ("may publish 1 row in 100,000.",)),
        Told("| size of delta | attention |", (GAUSS,), ("the rows of 1 person in 100,000.",),
             privacy=PEOPLE),
        *(
            Told(f"| size of delta | {status} |", (GAUSS,),
                 (f"Delta times that number is {published}:",
                  f"there are {population:,} units in all, which the tool can't know"),
                 privacy={"population": population})
            for population, status, published in (
                (999, "stated", "0.00999"), (1000, "stated", "0.01"), (1001, "attention", "0.01001")
            )
        ),
        Told(CHECKLIST, (GAUSS | {"delta": 1e-9},), ("| size of delta | attention |",),
             privacy={"population": 80_000_000}),
    ],
    "a source is stated, for the tool cannot know": [
        Told(CHECKLIST, (VISITS,), ("| bounds and categories taken from the data | stated |",)),
        Told("| bounds and categories taken from the data | attention |", (VISITS,),
             ("no public source for: stars",), changed={"columns": {"stars": {"source": None}}}),
        Told(CHECKLIST, (COUNT,), ("| bounds and categories taken from the data | ruled out |",),
             changed={"columns": None}),
    ],
    "odds change most for what is feared most": [
        # under add-remove another row is two steps away: e^2 for what a row says, not e
        Told(GUARANTEE, (VISITS,), (
            "- **\u00d7 7.39** most that odds change: what the row says, if it is in the",)),
        Told(GUARANTEE, (VISITS,), (
            "- **\u00d7 2.72** most that odds change: what the row says\n",),
             privacy={"adjacency": "replace-one"}),
    ],
    "half-widths that are computed from noisy figures were not fixed": [
        Told(GUARANTEE, (VISITS,), ("The half-widths of visits are fixed too.",)),
        Told(GUARANTEE, (VISITS, MEAN),
             ("The half-widths of wait are computed from noisy figures.",
              "The half-widths of visits are fixed too.")),
        *(
            Told(GUARANTEE, (query | {"name": "q"},),
                 ("noise is fixed before any data is read", "half-widths of q are computed"),
                 ("groups are fixed",))
            for query in (MEAN, {"statistic": "variance", "column": "stars"}, RATIO)
        ),
    ],
    "processing is only what this release does": [
        Told(PROCESSING, (COUNT,), (), ("bound", "Means", "Nulls", "step")),
        Told(PROCESSING, (SUM,), (), ("Means",)),
        Told(PROCESSING, (MEAN,),
             ("Values of days outside the bounds count as the nearest bound",
              "Means are read from two noisy sums")),
    ],
    "bias names what moves figures one way": [
        Told(CHECKLIST, (COUNT,), ("| bias | ruled out |",)),
        Told("| bias | attention |", (MEAN | {"by": ["region"]},),
             ("nearest bound: days", "tables by region", "many rows count in part"),
             privacy=PEOPLE),
    ],
    "utility is that of the figures that are judged": [
        Told("| utility | to judge |", (VISITS,),
             ("judged by their noise: 2. Of these 0 are low_reliability",), value=1000),
        Told("| utility | attention |", (VISITS,),
             ("judged by their noise: 2. Of these 2 are low_reliability",), value=1),
        # a median without a count beside it has no flag of reliability, only ``bounded``
        Told("| utility |", (MEDIAN | {"by": ["region"]}, COUNT),
             ("judged by their noise: 1. Of these 1 are low_reliability",), value=1,
             privacy=PEOPLE),
    ],
    "it says who gets the worse figures": [
        Told("The figures", (VISITS,),
             ("Figures that are low_reliability or suppressed: 2 of 2 groups, the worst first",
              "| region | north | 1 of 1 | 100% |"), value=1),
        Told("The figures", (VISITS,), (), ("the worst first",), value=10**6),
    ],
    "a cap of this spec stops no other one": [
        Told("| repeated releases | to judge |", (VISITS,),
             ("A spec without a cap is stopped by one of the ledger only",
              "What was released without this ledger is not known to it.")),
    ],
    "what private keys reveal is of the unit": [
        Told("| groups that appear only when non-empty |", (COUNT | SELECTED,),
             ("Whether a key is shown reveals of one row at most",), privacy={"delta": DELTA}),
        Told("| groups that appear only when non-empty |", (UNITS | SELECTED,),
             ("Whether a key is shown reveals of one person's rows at most",),
             privacy=PEOPLE | {"delta": DELTA}),
    ],
    "a hidden figure is not published, and new noise is drawn again for another charge": [
        Told("| groups that appear only when non-empty |", (VISITS | {"hide_below": 20},),
             ("has a row",), ("is published",)),
        Told("| noise truncated or drawn again |", (VISITS | {"hide_below": 20},),
             ("new noise is charged anew",)),
    ],
    "it says how many intervals miss": [
        Told(USE, (VISITS, MEAN | {"by": ["region"]}),
             ("- 6 figures of this release have a noise interval of 95%.",), value=5000),
    ],
    "changed figures have the interval of those before": [
        Told(USE, (VISITS | {"nonnegative": True},),
             ("enter as they were published. The interval is that of the figures before (`raw`",),
             value=5000),
        Told(USE, (VISITS,), ("sum of all cells",), ("enter as they were published",), value=5000),
    ],
    "equal figures are not told apart": [
        Told(QUOTES, (VISITS,),
             ("visits: no region can be shown to be highest; the noise hides the order of ",),
             ("clearly",), value=5000),
        Told(QUOTES, (VISITS | {"by": ["place"]},),
             ("visits: no place can be shown to be highest.",
              "visits: no place can be shown to be lowest."), value=5000, changed=MORE_COLUMNS),
    ],
    "what is hidden is neither quoted nor used": [
        Told("", (COUNT | {"where": "days > 3", "hide_below": 10**6},), (),
             (QUOTED, "| sum of all cells"), value=5000),
    ],
    "sentences have titles, units, labels and bins in words": [
        Told(QUOTES, (VISITS | {"title": "Visits", "unit": "stays"}, AGES | {"bins": [0, 18, 36]}),
             ("Visits: no Region of stay can be shown to be highest; the noise hides",
              "the order of The North and south.",
              "ages: no Age group can be shown to be highest; the noise hides",
              "the order of 0 to 17 and 18 to 36."), value=5000, changed=NAMED),
        Told(QUOTES, (TITLED,), ("- Stays: 5,000 stays (4,",), value=5000),
    ],
    "only figures without a caveat are quoted": [
        *(
            Told("", (query,), *(((QUOTED,), ()) if is_quoted else ((), (QUOTED,))), value=5000,
                 changed=MORE_COLUMNS)
            for query, is_quoted in (
                (AGES | {"bins": [0, 18, 36]}, True),
                (AGES | {"bins": [0, 18, 65]}, False),
                (DAYS | {"bins": ["2025-01-01", "2025-02-01", "2025-03-01"]}, True),
                (DAYS | {"bins": ["2025-01-01", "2025-01-10", "2025-01-31"]}, False),
                ({"name": "n", "statistic": "quality"}, False),
                (AGES | {"statistic": "cumulative", "bins": [0, 18, 36]}, False),
            )
        ),
        Told("", (TITLED, SHARE), (), (QUOTED,), value=5000, changed=WEIGHT),
        Told(QUOTES, (UNITS,), ("people: 5,000 (",), value=5000, privacy=PEOPLE),
        *(
            Told("", (query,), (), (QUOTED,), value=5000, privacy=PEOPLE)
            for query in (UNITS | {"by": ["region"]}, VISITS, MEAN)
        ),
    ],
    "sentences say the bounds within which values count": [
        Told(QUOTES, (SUM,), ("; values from 0 to 180, others counted as",), value=5000),
        Told(QUOTES, (TITLED,), ("Stays: ",), ("values from",), value=5000),
    ],
    "what is impossible is not quoted": [
        # the ends of an interval are cut to what the figure can be, and so is a negative count
        Told(QUOTES, (TITLED,), ("Stays: 1 stays (0 to ",), value=1),
        Told(QUOTES, (TITLED,), ("Stays: 0 stays (0 to 0)",), value=-500),
    ],
    "shares are quoted in percent, and after totals": [
        Told(QUOTES, (SHARE,), ("urgent: 50.0% (49.9% to 50.1%)",), value=5000),
        Told(QUOTES, (SHARE | {"by": ["region"]}, TITLED),
             ("\n- Stays: 50 stays (46 to 54).\n- urgent: no region can be shown to be highest",),
             value=50),
    ],
    "the label says what the report says": [
        Told(LABEL, (COUNT,),
             ("- Protects: one visit\n", "- Protects less: a person with several rows\n",
              "- Epsilon, this release: 1\n", "- All releases of these data: 1\n",
              "- this release: 11.92% to 88.08%\n", "- 10 rows together: no protection\n",
              "- Review: nobody\n"), ("if the cap is used up",), privacy=ONE_VISIT),
        Told(LABEL, (UNITS,), ("- Protects: one person\n", "- 10 people together: "),
             ("Protects less",), privacy=PEOPLE),
        # a delta that leaves no bound
        Told(LABEL, (GAUSS | {"delta": 0.01},), ("- this release: no bound\n",),
             privacy={"delta": 0.01}),
        Told(LABEL, (), ("- Noise is added: by the curator, to each record\n",), perturb=(TABLE,)),
    ],
    "the label says who decided": [
        Told(LABEL, (COUNT,), (f"- Review: {said}\n",),
             changed={"review": {"reviewer": "A. Reader", "decision": decision}})
        for decision, said in (
            (None, "A. Reader: no decision is stated"),
            ("approved", "approved by A. Reader"),
            ("approved with conditions", "approved with conditions by A. Reader"),
            ("refused", "refused by A. Reader"),
        )
    ],
    "a correction is another release, and spends again": [
        Told(ERRATA, (GAUSS,),
             ("on top of the epsilon 1 and delta 1e-5 of this one", f"name its run, {'f' * 64}, so",
              "in up to 5 of 100 releases")),
        Told(ERRATA, (COUNT,), ("in up to 0.05 of 100 releases",),
             changed={"output": {"interval": Decimal("0.9995")}}),
    ],
    "errors are reported to whom the spec names": [
        Told(ERRATA, (COUNT,), (said,), changed={"release": names})
        for names, said in (
            ({"contact": "dpo@a.example", "curator": "Agency"}, "Report errors to dpo@a.example."),
            ({"curator": "Agency"}, "Report errors to Agency."),
            ({}, "names no contact. Report errors to whoever published these files."),
        )
    ],
    "the bias of a count and of a figure alone are named": [
        Told(NOISE, (COUNT | {"by": ["urgent"], "epsilon": 0.1}, SUM),
             ("a cell without records by at most 5.64 on average",  # 0.399 of 14.14
              "one that is truly 0 by at most"), changed={"postprocess": {"nonnegative": True}}),
    ],
    "rounding and hiding say by how much, and what they do not do": [
        Told(NOISE, (VISITS | {"round_to": 5, "hide_below": 20},),
             ("nearest multiple of 5 at last", "larger by 2.5",
              "Shown only where value >= 20; else it is empty, and its flag is suppressed.",
              "It protects nobody")),
    ],
    "trust and what is public are hazards of a table of records": [
        Told("", (),
             ("| trust in the local model | not checked |", "whoever ran dprelease",
              "| amplification by shuffling | ruled out |", "the number of rows of records",
              "How many records", "local model"), perturb=(TABLE,)),
    ],
}  # fmt: skip


def change(content: Any, changed: Mapping[str, Any]) -> Any:
    """A mapping with other values; None takes a key away."""
    made = dict(content or {})
    for key, value in changed.items():
        made[key] = change(made.get(key), value) if isinstance(value, Mapping) else value
    return {key: value for key, value in made.items() if value is not None}


def find_section(report: str, section: str) -> str:
    """What stands below a heading of any level, or the row of a table that begins so."""
    if section.startswith("|"):
        (row,) = [line for line in report.splitlines() if line.startswith(section)]
        return row
    _, level, below = re.split(rf"^(#+) {re.escape(section)}$", report, maxsplit=1, flags=re.M)
    return re.split(rf"^#{{1,{len(level)}}} ", below, flags=re.M)[0]


@pytest.mark.parametrize("rule", RULES)
def test_a_report_says_what_holds_for_its_release(published, rule: str) -> None:
    for told in RULES[rule]:
        given = (
            records_spec(*told.perturb, queries=told.queries, **told.privacy)
            if told.perturb
            else spec(*told.queries, **told.privacy)
        )
        given["query"] = [change({}, query) for query in given.get("query", ())] or None
        given = change(given, {"report": {"formats": ["md", "json"]}} | dict(told.changed))
        report = published(make_plan(load(given)), told.value).files["report.md"].decode()
        text = re.sub(r"\\(.)", r"\1", report)
        if told.section:
            text = find_section(text, told.section)
        assert [words for words in told.says if words not in text] == [], text
        assert [words for words in told.silent if words in text] == [], text


def test_shares_of_an_older_report_are_of_all_records(planned, published) -> None:
    report = json.loads(json.dumps(published(planned(SHARE)).report))
    del report["queries"][0]["among"]
    (bullets,) = build_reading_section(read_report_json(report)).parts
    assert "Shares of urgent are of all records." in " ".join(bullets.lines)


def test_no_public_file_tells_the_folders_of_the_data(published) -> None:
    content = spec({"statistic": "count"})
    content["data"]["path"] = "../private folder/of ours/visits-*.csv"
    made = published(make_plan(load(content)))
    assert json.loads(made.files["report.json"])["data"]["path"] == "visits-*.csv"
    for name, text in made.files.items():
        assert b"private folder" not in text, name
