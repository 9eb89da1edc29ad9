"""What is asked but a ``[[query]]`` itself: the tables within one, and ``[[perturb]]``."""

from __future__ import annotations

from typing import Literal, NamedTuple

from dprelease.specfile.schema.fields import (
    line,
    mechanisms,
    safe_name,
    text,
    texts,
    truth,
    weights,
)
from dprelease.specfile.schema.number_texts import (
    bound,
    budget,
    confidence,
    probability,
    selection_delta,
    within,
)
from dprelease.specfile.schema.section_reader import Choice, Key, Section, nested

PartStatistic = Literal["sum", "count"]


class SelectionSection(Section, header="partition_selection = { ... }"):
    WORDS = (
        "Which groups without public keys are shown: those whose noisy count reaches a threshold. "
        "It is one selection for the whole table, by its `count` (`count_units`, if the unit is a "
        "column); a table without one gets `<table>_rows` or `<table>_units`."
    )

    delta = Key(
        selection_delta,
        "the chance that a group of a single unit is shown",
        remedy="the chance that a key of one unit alone is shown, such as delta = 1e-8",
    )
    epsilon = Key(
        budget, "the budget of the count that selects, if it states none itself", "the count's own"
    )


read_selection = nested(SelectionSection)


class PartSection(Section, header="numerator = { ... }, denominator = { ... }"):
    WORDS = "What a `ratio` divides: the sum of a column, or without one a number of records."

    column = Key(line, "what is summed; needs bounds")
    where = Key(text, "which records count", "all records")
    statistic = Choice[PartStatistic | None](
        PartStatistic, None, "`sum` or `count`", "sum with a column, else count"
    )


class Half(NamedTuple):
    """A numerator or denominator; ``short``: written as nothing but its condition."""

    section: PartSection
    short: bool


def read_half(value: object) -> Half:
    """Read a numerator or denominator: a condition, or a table."""
    if isinstance(value, str):
        return Half(PartSection.read({"where": text(value)})[0], short=True)
    return Half(nested(PartSection)(value), short=False)


class AccuracySection(Section, header="accuracy = { ... }"):
    WORDS = "How large the noise of a query may be; the budget follows from that."

    within = Key(
        within,
        "the largest noise, in the unit of the figure; in scores of a choice, ranks of a quantile",
        remedy="how far the noise may move a figure, in its own unit, such as within = 10",
    )
    confidence = Key(confidence, "how often it must be within, 0.5 to below 1", "0.95")
    records = Key(
        bound,
        "of means, shares, ratios and variances: at how many records the target holds, if "
        "their values are spread evenly over the bounds",
    )


read_accuracy = nested(AccuracySection)


class PerturbSection(Section, header="[[perturb]]"):
    WORDS = (
        "A table of records in the local model: the same columns and one row for each record, "
        "each value perturbed on its own. How many records there are is public. State `epsilon` or "
        "`truth`; a `[[perturb]]` that is all of the spec can have the total."
    )

    name = Key(
        safe_name, "name of the table and its file", remedy="it becomes the name of the table"
    )
    columns = Key(
        texts,
        "the columns, in order; each needs keys or bins, or bounds, or is boolean. A value "
        "that is not declared, without `other`, is answered at random",
        remedy="list the columns of the table, each declared in [columns.NAME]",
    )
    mechanism = Key(
        mechanisms,
        "which noise; auto takes the best for each column: of labels randomized-response or "
        "subset-selection, of numbers laplace or piecewise; or by column: `{ region = "
        '"randomized-response" }`',
        '"auto"',
    )
    epsilon = Key(
        budget, "what the whole table costs one unit: all columns of its rows", "the total"
    )
    delta = Key(probability, "with `epsilon`, the same", "0")
    truth = Key(
        truth, "instead of `epsilon`: the chance of the true answer in each column; labels only"
    )
    weights = Key(weights, "how much of epsilon each column has: `{ region = 2 }`", "1 each")
