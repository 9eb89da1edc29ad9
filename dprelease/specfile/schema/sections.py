"""The sections of a spec: their keys, what each takes, and what it means.

The words of the sections and of their keys are those of the README's reference and of the JSON
Schema. Every key may be absent as far as this table goes: it is then its default, which is None
unless it stands here. ``remedy`` marks the keys that are missed when absent, ``later`` the words
that belong to the format but not to this version.
"""

from __future__ import annotations

from typing import Literal

from dprelease.engines.engine_registry import ENGINES
from dprelease.language import ENGLISH, LANGUAGES
from dprelease.local.perturb_section import PerturbSection
from dprelease.model.source_registry import DRIVERS, SOURCES
from dprelease.report_format import DEFAULT_REPORT_FORMATS
from dprelease.specfile.keys.fields import (
    read_day,
    read_decimals,
    read_flag,
    read_label,
    read_labels,
    read_licence,
    read_line,
    read_option,
    read_safe_name,
    read_scalar,
    read_scalars,
    read_text,
    read_texts,
    read_variable,
)
from dprelease.specfile.keys.number_texts import (
    read_budget,
    read_design_effect,
    read_exact,
    read_interval,
    read_limit,
    read_population,
    read_positive,
    read_probability,
    read_record_lines,
    read_skipped_rows,
    read_weight,
)
from dprelease.specfile.keys.section_reader import Choice, Key, Section, build_table_reader
from dprelease.specfile.schema.query_keys import (
    AccuracySection,
    ClipSection,
    PartSection,
    SelectionSection,
    read_accuracy,
    read_own_keys,
    read_selection,
)
from dprelease.statistics.statistic_registry import STATISTICS

Accounting = Literal["auto", "pure", "zcdp", "pld"]
Decimal = Literal[".", ","]
Decision = Literal["approved", "approved with conditions", "refused"]
Format = Literal["csv", "parquet", "xlsx"]
Layout = Literal["wide", "long"]
Mechanism = Literal["auto", "laplace", "gaussian", "exponential"]
Neighbours = Literal["add-remove", "replace-one"]
TypeName = Literal["integer", "float", "decimal", "string", "boolean", "date", "timestamp"]
Unit = Literal["row", "column"]
UnnamedField = Literal["first", "last"]

*_FIRST, _LAST = STATISTICS


class ReleaseSection(Section, header="[release]"):
    WORDS = "Who publishes what, and why. Goes into the report."

    name = Key(
        read_safe_name,
        "name of the release; part of its identity",
        remedy='name the release, for example name = "staff-pay-2026"',
    )
    title = Key(read_line, "heading of the report and the tables; may hold `{period}`", "the name")
    curator = Key(read_line, "who holds the data and publishes")
    contact = Key(read_line, "where readers can ask")
    purpose = Key(read_text, "what the release is for; may hold `{period}`")
    region = Key(read_line, "the place that the data is about")
    sector = Key(
        read_line, "a sector of the registry of deployments, such as Healthcare or Education"
    )
    approved_by = Key(read_line, "who agreed to the release")
    licence = Key(read_licence, "licence of the figures: an SPDX identifier or a URL", "none")
    previous = Key(
        read_line,
        "`report.json` of the last release, relative to the spec; may hold `{period}`. The report "
        "says what changed since",
    )


def _list_suffixes() -> str:
    """Say which suffix stands for which format."""
    clauses = []
    for form in SOURCES.values():
        if form.suffixes:
            *others, last = [f"`{suffix}`" for suffix in form.suffixes]
            subject = f"{', '.join(others)} and {last} are" if others else f"{last} is"
            packed = " or ".join(f"`{suffix}`" for suffix in form.packed)
            also = f", also with {packed}" if packed else ""
            clauses.append(f"{subject} {form.title}{also}")
    return "; ".join(clauses)


class DataSection(Section, header="[data]"):
    WORDS = "Where the table is. The keys from `delimiter` on are for CSV; nothing is sniffed."

    path = Key(
        read_line,
        "a file, a glob or a directory, relative to the spec; may hold `{period}`",
        "required, except for a database or a frame",
    )
    format = Choice[str | None](
        SOURCES,
        None,
        f"the format of the data. By suffix, {_list_suffixes()}. "
        '`"adbc"` is a table of a database, `"frame"` a table that a program passes',
        "by suffix",
    )
    driver = Choice[str | None](DRIVERS, None, "the kind of database; its extra must be installed")
    uri_env = Key(read_line, "the environment variable that holds the URI of the database")
    table = Key(
        read_line,
        "the table or view, with its schema if needed, as in `schema.table`; a name that has a dot "
        "stands in double quotes; may hold `{period}`",
    )
    vars().update(
        {
            name: Key(read_line, own.meaning, own.absent)
            for form in SOURCES.values()
            for name, own in form.own.items()
        }
    )
    engine = Choice[str](ENGINES, "duckdb", "what reads the data")
    snapshot = Key(
        read_line, "names the version of the data; part of the identity; may hold `{period}`"
    )
    weight = Key(
        read_line,
        "the column of survey weights, which say how often a record counts; it needs bounds, with "
        "a `lower` of at least 0",
        "each record once",
    )
    design_effect = Key(
        read_design_effect,
        "the variance of the survey's estimates divided by that of a simple random sample, as the "
        "survey's producer states it; the report shows it with weighted figures",
        "none",
    )
    delimiter = Key(read_option, 'one ASCII character (`"\\t"` by itself for `.tsv`)', '","')
    quote = Key(read_option, 'one ASCII character; `""` means that fields are never quoted', '`"`')
    encoding = Key(read_option, "utf-8, latin-1 or cp1252", '"utf-8"')
    null_values = Key(read_texts, "texts that stand for a missing value", '[""]')
    header = Key(read_flag, "whether the first line names the columns", "true")
    skip_rows = Key(
        read_skipped_rows,
        "how many lines stand before the header, such as a title: 1 to 10,000",
        "0",
    )
    unnamed_field = Choice[UnnamedField | None](
        UnnamedField,
        None,
        'where each record has one field that the header does not name: `"first"`, as R writes the '
        'names of rows, or `"last"`; an empty field at the end needs no key',
        "none",
    )
    names = Key(read_texts, "the columns' names, all in order, when `header = false`")
    strip = Key(read_flag, "removes spaces and tabs around fields", "false")
    decimal = Choice[Decimal | None](Decimal, None, "the decimal mark of all numbers", '"."')
    thousands = Key(
        read_option,
        "the mark between groups of three digits: `.`, `,`, `_`, an apostrophe or a blank",
        "none",
    )
    multiline = Key(read_flag, "whether a field in quotes may hold line breaks", "false")
    max_lines_per_record = Key(
        read_record_lines, "with `multiline`, the most lines of one record: 2 to 10,000", "1,000"
    )


class BoundingSection(Section, header="[privacy.bounding]"):
    WORDS = (
        'How many rows of one unit count; needed with `unit = "column"`. '
        "Every table keeps at most this many of the unit's rows that pass `where` and belong to a "
        "group. They are chosen pseudo-randomly."
    )

    max_rows_per_unit = Key(
        read_limit,
        "most rows of one unit that count in a table",
        remedy="write how many rows of one unit count in a table; further rows are left out",
    )
    max_groups_per_unit = Key(
        read_limit,
        "most groups of a table in which rows of one unit count; needs a `[[query]]`",
        "required with a query",
    )
    max_rows_per_unit_per_group = Key(
        read_limit, "most rows of one unit that count in one group", "as many as in the table"
    )


read_bounding = build_table_reader(BoundingSection)


class PrivacySection(Section, header="[privacy]"):
    WORDS = "What is protected, and the total that may be spent."

    unit = Choice[Unit | None](
        Unit,
        None,
        'what one protected thing is: `"row"`, one record, or `"column"`, all records with one '
        "value of a column",
        remedy="say what one protected thing is; there is no default",
    )
    unit_column = Key(
        read_line,
        "the column that identifies a unit, such as a patient's number; it need not be declared, "
        "and records without a value are left out",
    )
    unit_description = Key(read_line, "what a unit stands for, in words", "warned")
    population = Key(
        read_population, "the public number of all units, with which delta is compared", "none"
    )
    adjacency = Choice[Neighbours | None](
        Neighbours,
        None,
        "which two tables are neighbours: see Concepts",
        remedy='say which tables count as neighbours: "add-remove" or "replace-one"',
    )
    epsilon = Key(read_budget, "the total of this release", "sum of the queries")
    delta = Key(read_probability, "the total delta", "0, or 1e-6 with budgets in `rho`")
    rho = Key(read_budget, "a total in zCDP, instead of `epsilon`")
    accounting = Choice[Accounting](
        Accounting,
        "auto",
        'how losses are composed: `"auto"` takes the smallest valid figure, `"pure"` adds them up, '
        '`"zcdp"` uses only zCDP, `"pld"` only loss distributions',
    )
    bounding = Key(read_bounding, 'needed with `unit = "column"`')


class LedgerSection(Section, header="[ledger]"):
    WORDS = "Where the spent budget is recorded. There is always a ledger."

    path = Key(read_line, "the ledger's file", "`dprelease-ledger.sqlite` beside the spec")
    url_env = Key(
        read_variable,
        "in place of `path`: the environment variable with the URL of a PostgreSQL server that "
        "holds the ledger; needs `dprelease[postgres]`",
        "none: a file",
    )
    dataset = Key(
        read_line,
        "the dataset that the budget belongs to; the losses of all specs that name it add up",
        "file or folder name of the data",
    )
    epsilon_cap = Key(read_budget, "most that may ever be spent on the dataset", "no cap, warned")
    delta_cap = Key(
        read_probability, "the same for delta; a tenth of it is reserved for composition", "no cap"
    )
    rho_cap = Key(
        read_budget, "the same for rho; every release must then have a bound in rho", "no cap"
    )
    witness = Key(
        read_line,
        "file that records the last entry of the ledger, so that an older copy is noticed",
        "the ledger's path, or the variable's name, with `.witness`",
    )
    disjoint_periods = Key(
        read_flag,
        "each protected unit has records in one period only; needs `{period}` in the path of "
        "the data",
        "false",
    )


class ColumnSection(Section, header="[columns.NAME]"):
    WORDS = "What is publicly known about a column. Columns that no query needs may be left out."

    type = Choice[TypeName | None](
        TypeName,
        None,
        "how its values are read",
        remedy="write integer, float, decimal, string, boolean, date or timestamp",
    )
    lower = Key(
        read_scalar,
        "the lower bound, as which smaller values count; sums and means need both bounds",
    )
    upper = Key(read_scalar, "the upper bound, as which larger values count")
    step = Key(
        read_exact,
        "the distance of values on the grid; it must divide both bounds; the chosen one is a power "
        "of ten that gives at least 100,000 steps",
        "1, or chosen",
    )
    keys = Key(read_scalars, "the public list of values to group by")
    keys_file = Key(
        read_line, "the same list in a UTF-8 file below the spec's folder, one value per line"
    )
    other = Key(
        read_line,
        "label of the group for values that are not declared: a new one, or one of the keys",
        "dropped",
    )
    nulls = Key(
        read_scalar,
        "what a missing or unreadable value counts as: a value, or the label in `other`",
        '"drop"',
    )
    bins = Key(
        read_scalars,
        "edges of the ranges to group by; ranges are half-open, the last one is closed",
    )
    format = Key(
        read_line,
        "how texts write dates or timestamps, such as `%d.%m.%Y`; the directives are "
        "`%Y %m %d %H %M %S %f %z`",
        "ISO",
    )
    zone = Key(
        read_line,
        "time zone to which timestamps with a zone or an offset are converted, such as "
        "`Europe/Berlin`",
        "`UTC`",
    )
    expression = Key(read_text, "computes the column from others of the same record")
    source = Key(read_text, "which public rule the bounds or keys come from", "warned")
    label = Key(read_label, "what people read instead of the column's name", "the name")
    labels = Key(read_labels, 'what people read instead of the keys: `{ m = "Men" }`', "the keys")


class PostprocessSection(Section, header="[postprocess]"):
    WORDS = (
        "How noisy figures are processed before they are published, at no cost and in the order "
        "of the keys. A key applies to all queries that can have it; the same key in a `[[query]]` "
        "takes precedence."
    )

    consistent = Key(
        read_flag,
        "tables of the same count or sum over the same records are made to agree by weighted least "
        "squares; cells then add up to their totals exactly",
        "false",
    )
    nonnegative = Key(
        read_flag,
        "counts, and sums with a lower bound of 0 or more, are moved to 0 or more; they still add "
        "up to the noisy total",
        "false",
    )
    integer = Key(read_flag, "counts and sums become whole numbers; totals are kept", "false")
    publish_if = Key(
        read_text,
        "a condition on `value`, `noise_moe`, `count` and other figures of the row; where it is "
        "false, the cell is empty and flagged `suppressed`, which does not protect privacy",
        "always",
    )
    hide_below = Key(
        read_exact, "for counts and sums, short for `publish_if` with `value >=`", "never"
    )
    round_to = Key(
        read_positive,
        "figures are finally rounded to multiples of this; their intervals become wider",
        "exact",
    )
    flag_unreliable_at = Key(
        read_positive, "a figure is flagged if its half-width is more than this share of it", "0.3"
    )


class QuerySection(Section, header="[[query]]"):
    WORDS = (
        "One statistic. State one of `epsilon`, `rho`, `accuracy` and `weight`, or none (weight "
        "1). The keys from `consistent` on take precedence over those of `[postprocess]`."
    )

    name = Key(
        read_safe_name,
        "name of the published column",
        remedy="write its name, which becomes the name of the published column",
    )
    statistic = Key(
        read_line,
        f"{', '.join(_FIRST)} or {_LAST}",
        remedy="write a statistic, such as count, sum, mean, quantile or histogram",
    )
    by = Key(
        read_texts, "grouping columns; each needs keys, bins or `partition_selection`", "overall"
    )
    column = Key(read_line, "the column that is summed, averaged, sorted, counted or chosen from")
    bins = Key(
        read_scalars, "the query's own edges for a histogram, mode or top_k", "those of the column"
    )
    where = Key(
        read_text,
        "a condition; only records for which it is true count; for a proportion, the condition "
        "whose share of the records is published",
        "all records",
    )
    # Each statistic says which keys are its own.
    vars().update(read_own_keys())

    partition_selection = Key(
        read_selection, "shows groups without public keys if many units are in them"
    )
    epsilon = Key(read_budget, "the query's own budget")
    delta = Key(read_probability, "with `epsilon`, for Gaussian noise")
    rho = Key(read_budget, "the query's own budget in zCDP")
    weight = Key(
        read_weight, "how much its variance matters when the rest of the total is shared", "1"
    )
    accuracy = Key(read_accuracy, "the largest acceptable noise, instead of a budget")
    mechanism = Choice[Mechanism](
        Mechanism,
        "auto",
        "the mechanism; auto takes the best; choices and quantiles take the exponential one",
    )
    table = Key(read_safe_name, "the table in which it is published", "`overall` or `by_...`")
    weight_by_survey = Key(
        read_flag,
        "whether the survey weight of `[data]` applies; write false for statistics that can't be "
        "weighted",
        "true where `[data]` has a `weight`",
    )
    title = Key(read_label, "what people read instead of the name", "the name")
    unit = Key(read_label, "the unit of the figure, such as days or EUR")
    description = Key(read_text, "what the figure is, in your own words, beside its definition")
    decimals = Key(read_decimals, "the number of decimals shown", "two digits of the half-width")
    consistent = PostprocessSection.consistent
    nonnegative = PostprocessSection.nonnegative
    integer = PostprocessSection.integer
    publish_if = PostprocessSection.publish_if
    hide_below = PostprocessSection.hide_below
    round_to = PostprocessSection.round_to
    flag_unreliable_at = PostprocessSection.flag_unreliable_at


class OutputSection(Section, header="[output]"):
    WORDS = "Where the release is written."

    path = Key(
        read_line,
        "a directory of its own, relative to the spec; may hold `{period}`, and `{revision}`: 1 "
        "for the first release of this name and period, 2 for the next",
        remedy="name a directory for the tables and the report, relative to the spec",
    )
    format = Choice[Format](
        Format,
        "csv",
        "format of the tables; `xlsx`: CSV files, and beside them one workbook of all tables "
        "(needs the extra `dprelease[xlsx]`)",
    )
    layout = Choice[Layout](
        Layout, "wide", "`long`: beside the tables, one CSV file with a line for each figure"
    )
    interval = Key(read_interval, "level of the noise intervals, 0.5 to 0.999999", "0.95")
    titles = Key(
        read_labels,
        'what people read instead of the names of tables: `{ by_sex = "By sex" }`',
        "the names",
    )


class ReportSection(Section, header="[report]"):
    WORDS = "Which reports are written."

    formats = Key(
        read_texts,
        "any of `html`, `md`, `json`, `pdf` (needs the extra `dprelease[pdf]`), `registry` (an "
        "entry for OpenDP's registry) and `dcat` (DCAT-AP, for data catalogues)",
        '["' + '", "'.join(DEFAULT_REPORT_FORMATS) + '"]',
    )
    language = Choice[str](LANGUAGES, ENGLISH, "language of the report's sentences")


class AttestationsSection(Section, header="[review.attestations]"):
    WORDS = (
        "What the reviewer states about hazards that the tool can't check, one text for each. The "
        "report calls a hazard with a text `stated`, and others `not checked`."
    )

    side_channels = Key(
        read_text, "what keeps others from watching a run, such as how long it takes"
    )
    security_and_access = Key(read_text, "who can read the private table and the machine")
    data_collection_and_minimisation = Key(read_text, "what was collected, and why no more")
    staff_who_see_the_data = Key(
        read_text, "who is trusted with the private table, and on what terms"
    )
    trust_in_the_local_model = Key(
        read_text, "who held the true records of record-level tables; needs a `[[perturb]]`"
    )


read_attestations = build_table_reader(AttestationsSection)


class ReviewSection(Section, header="[review]"):
    WORDS = (
        "Who reviewed the release and agreed to it. These texts are for the report; they change "
        "neither the noise nor the identity of the release. A run must match an approved plan in "
        "all of them except `decision`, `date` and `reference`, which come with the signature."
    )

    reviewer = Key(read_line, "who reviewed the release; needed with any other key of the section")
    role = Key(read_line, "the reviewer's role, such as data protection officer")
    decision = Choice[Decision | None](
        Decision, None, 'what the reviewer decided; `run` releases nothing that is "refused"', "-"
    )
    date = Key(read_day, "the day of the decision")
    reference = Key(read_line, "where the signed paper is, such as a file number")
    legal_basis = Key(read_text, "the law that the release rests on")
    necessity = Key(read_text, "why the release is needed, and why no less would do")
    attestations = Key(read_attestations, "what the reviewer states about hazards")


SECTIONS: tuple[type[Section], ...] = (
    ReleaseSection, DataSection, PrivacySection, BoundingSection, LedgerSection, ColumnSection,
    QuerySection, AccuracySection, ClipSection, SelectionSection, PartSection,
    PostprocessSection, PerturbSection, OutputSection, ReportSection, ReviewSection,
    AttestationsSection,
)  # fmt: skip
"""All of them, in the order of the reference."""
