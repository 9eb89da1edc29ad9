"""A whole spec with made-up data, to try the commands on."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.scaffold.toml_text import quote

RECORDS = 1200
REGIONS = ("north", "south", "east", "west")

_SPEC = """\
# A whole spec, with made-up data. In this folder:
#
#   dprelease check {spec}     is the spec sound? (opens no data)
#   dprelease plan {spec}      how noisy, at what cost? (opens no data)
#   dprelease run {spec}       publish
#   dprelease show out/example
#
# Run it twice: the second run gives the same files and spends nothing.

schema = 1

[release]
name = "example"
title = "Clinic visits by region"
curator = "Example Health Agency"

[data]
path = {data}

[privacy]
unit = "row"
unit_description = "one visit to a clinic"
adjacency = "add-remove" # neighbours differ by one visit more or less
epsilon = 1.0            # less protects more, and errs more

[ledger]
dataset = "example"
epsilon_cap = 4.0 # the most that may ever be spent on this data

# Keys and bounds are public rules; nothing is read from the data.
[columns.region]
type = "string"
keys = [{regions}]
source = "public: list of the agency's regions"

[columns.urgent]
type = "boolean"

[columns.waiting_days]
type = "integer"
lower = 0
upper = 90
source = "public: no visit is planned further ahead"

[[query]]
name = "visits"
statistic = "count"
by = ["region"]

[[query]]
name = "urgent_share"
statistic = "proportion"
where = "urgent"

[[query]]
name = "mean_waiting_days"
statistic = "mean"
column = "waiting_days"

[output]
path = "out/example"
"""


def write_example_spec(spec: str, data: str) -> str:
    """Write the text of a spec that needs nothing filled in.

    Args:
        spec: The name of its file.
        data: The name of the file with the data, in the same folder.
    """
    regions = ", ".join(map(quote, REGIONS))
    return _SPEC.format(spec=spec, data=quote(data), regions=regions)


def write_example_data() -> str:
    """Write made-up records as CSV, the same each time: no record is of a person."""
    return "".join(_iter_lines())


def _iter_lines() -> Iterator[str]:
    yield "visit,region,urgent,waiting_days\n"
    for number in range(RECORDS):
        # Multiples of a number of this size, modulo 2^32, look as if they were shuffled (Knuth,
        # The Art of Computer Programming, section 6.4).
        mixed = number * 2654435761 % 2**32
        region = REGIONS[mixed % 10 // 3]
        urgent = "yes" if mixed // 10 % 9 < 2 else "no"
        days = mixed // 100 % 10 * (mixed // 1000 % 7)
        yield f"V{number:04d},{region},{urgent},{days if mixed // 10000 % 40 else ''}\n"
