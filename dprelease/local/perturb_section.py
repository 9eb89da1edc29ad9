"""The keys of ``[[perturb]]``, a record-level table, and how their values are read."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dprelease.model import Mechanism
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.complaints.reporter import Refused, build_word_refusal
from dprelease.specfile.keys.fields import read_safe_name, read_texts
from dprelease.specfile.keys.number_texts import (
    SHARE,
    WEIGHT,
    read_budget,
    read_exact,
    read_probability,
    read_weight,
)
from dprelease.specfile.keys.section_reader import Key, Section, read_each, takes

MECHANISMS = tuple(mechanism.value for mechanism in Mechanism)
_WORD = {"enum": list(MECHANISMS)}


@takes(
    " ".join(f'`"{word}"`' for word in MECHANISMS) + ", or table by column",
    {"oneOf": [_WORD, {"type": "object", "additionalProperties": _WORD}]},
)
def read_mechanisms(value: object) -> Mechanism | Mapping[str, Mechanism]:
    """Read a mechanism for all columns, or a table of mechanisms by column."""
    if isinstance(value, Mapping):
        return dict(zip(value, read_each(value.items(), _read_mechanism), strict=True))
    return _read_mechanism(value)


@takes("table by column, of numbers above 0", {"type": "object", "additionalProperties": WEIGHT})
def read_weights(value: object) -> Mapping[str, Fraction]:
    """Read a table of weights by column."""
    if not isinstance(value, Mapping):
        hint = "write { column = 2 }; columns that are left out have weight 1"
        raise Refused(f"{show(value)} is not a table", hint, "E103")
    return dict(zip(value, read_each(value.items(), read_weight), strict=True))


@takes("number in (0, 1)", SHARE)
def read_truth(value: object) -> Fraction:
    """Read a chance of the true answer: above 0, below 1. Raises ``Refused`` (E248)."""
    number = read_exact(value, "E248")
    if not 0 < number < 1:
        raise Refused(f"truth {show(value)} is not above 0 and below 1", code="E248")
    return number


def _read_mechanism(value: object) -> Mechanism:
    if isinstance(value, str) and value in MECHANISMS:
        return Mechanism(value)
    raise build_word_refusal(value, "mechanism for [[perturb]]", MECHANISMS)


class PerturbSection(Section, header="[[perturb]]"):
    WORDS = (
        "A table of records in the local model: the same columns and one row for each record, "
        "each value perturbed on its own. The number of records is public. State `epsilon` or "
        "`truth`; a single `[[perturb]]` in a spec without queries can take the total."
    )

    name = Key(
        read_safe_name,
        "name of the table and its file",
        remedy="write its name, which becomes the name of the table",
    )
    columns = Key(
        read_texts,
        "the columns, in order; each needs keys or bins, or bounds, or is boolean. Without "
        "`other`, a value that is not declared is answered at random",
        remedy="list the columns of the table, each declared in [columns.NAME]",
    )
    mechanism = Key(
        read_mechanisms,
        "the mechanism, or one for each column: "
        '`{ region = "randomized-response" }`; auto takes the best for each column: '
        "randomized-response or subset-selection for labels, laplace or piecewise for numbers",
        '"auto"',
    )
    epsilon = Key(
        read_budget, "what the whole table costs one unit: all columns of its rows", "the total"
    )
    delta = Key(
        read_probability, "the delta that the whole table costs one unit, with `epsilon`", "0"
    )
    truth = Key(
        read_truth,
        "instead of `epsilon`: the chance of the true answer in each column; labels only",
    )
    weights = Key(
        read_weights, "the share of epsilon that each column gets: `{ region = 2 }`", "1 each"
    )
