"""Write adult_sample.csv: 200 made-up records in the shape of a well-known census extract.

The shape is that of the "Adult" census file of 1994: no header, a blank after every comma, "?"
for what is unknown. Every record is drawn here, column by column, from
lists of the categories that file is documented to use; none is copied.

Usage: python make_adult_sample.py [OUTPUT]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

SEED = 19_940_101
RECORDS = 200

WORK = ("Private", "Private", "Private", "Private", "Self-emp-not-inc", "Self-emp-inc",
        "Federal-gov", "Local-gov", "State-gov", "Without-pay", "?")  # fmt: skip
SCHOOLING = {
    "10th": 6,
    "11th": 7,
    "HS-grad": 9,
    "Some-college": 10,
    "Assoc-voc": 11,
    "Bachelors": 13,
    "Masters": 14,
    "Doctorate": 16,
}
MARRIAGE = {
    "Married-civ-spouse": ("Husband", "Wife"),
    "Never-married": ("Own-child", "Not-in-family"),
    "Divorced": ("Unmarried", "Not-in-family"),
    "Widowed": ("Unmarried", "Other-relative"),
}
OCCUPATIONS = ("Prof-specialty", "Craft-repair", "Exec-managerial", "Adm-clerical", "Sales",
               "Other-service", "Machine-op-inspct", "Transport-moving", "?")  # fmt: skip
RACES = ("White", "White", "White", "White", "Black", "Asian-Pac-Islander", "Other")
COUNTRIES = ("United-States", "United-States", "United-States", "United-States", "Mexico",
             "Philippines", "Germany", "?")  # fmt: skip


def pick(source: Random, choices: tuple[str, ...]) -> str:
    """Draw one of the choices, each as likely as its share of the list."""
    return choices[int(source.random() * len(choices))]


def one_record(source: Random) -> list[str]:
    """Draw one record, as texts in the order of the columns."""
    schooling = pick(source, tuple(SCHOOLING))
    marriage = pick(source, tuple(MARRIAGE))
    sex = pick(source, ("Male", "Female"))
    relations = MARRIAGE[marriage]
    relation = pick(source, relations)
    if marriage == "Married-civ-spouse":
        relation = relations[sex == "Female"]
    gain = int(source.random() * 15_000) if source.random() < 0.08 else 0
    loss = int(source.random() * 2_500) if source.random() < 0.05 else 0
    well_paid = source.random() * 20 < SCHOOLING[schooling] - 5
    return [
        str(17 + int((source.random() + source.random()) * 33)),
        pick(source, WORK),
        str(20_000 + int(source.random() * 380_000)),
        schooling,
        str(SCHOOLING[schooling]),
        marriage,
        pick(source, OCCUPATIONS),
        relation,
        pick(source, RACES),
        sex,
        str(gain),
        str(loss),
        "40" if source.random() < 0.5 else str(5 + int(source.random() * 65)),
        pick(source, COUNTRIES),
        ">50K" if well_paid else "<=50K",
    ]


def lines() -> Iterator[str]:
    """Give every record, without its line end."""
    source = Random(SEED)  # noqa: S311 - sample data, not noise
    for _ in range(RECORDS):
        yield ", ".join(one_record(source))


def main() -> None:
    """Write the file beside this program, or where the first argument says."""
    target = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("adult_sample.csv")
    target.write_bytes("".join(f"{line}\n" for line in lines()).encode("utf-8"))


if __name__ == "__main__":
    main()
