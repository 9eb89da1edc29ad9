"""Write labour_survey.csv: 3,000 made-up answers to a made-up labour force survey, with weights.

Everything here is synthetic. Nobody was asked, and no real survey was looked at to make it. A fixed
seed gives the same bytes on every machine: only ``random.random()`` is used, whose sequence Python
keeps stable, and no function of the C mathematics library.

Regions are sampled at different rates, and some people answer less often than others: so weights
differ, and figures without them are wrong. A few weights are spoilt, as those of real files are.

Usage: python make_labour_survey.py [OUTPUT]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

SEED = 20_260_401
ANSWERS = 3_000
HEADER = "region,sex,age,status,hours,pay,survey_weight"

# region: share of the sample in percent, people for each who was asked, chance of work
REGIONS = {
    "north": (30, 420, 0.66),
    "south": (25, 610, 0.58),
    "east": (25, 350, 0.61),
    "islands": (20, 60, 0.52),
}
SPOILT = {700: "", 1400: "n/a", 2100: "-35.00", 2800: "25000.00"}  # by number of the answer


def pick(source: Random) -> str:
    """Draw a region with its share of the sample."""
    point = source.random() * 100
    for region, (share, _, _) in REGIONS.items():
        point -= share
        if point < 0:
            return region
    return "islands"


def bell(source: Random) -> float:
    """Draw about 0, between -1 and 1, mostly small."""
    return (source.random() + source.random() + source.random()) * 2 / 3 - 1


def one_answer(source: Random, number: int) -> list[str]:
    """Draw one answer, as texts in the order of the columns."""
    region = pick(source)
    _, people, chance = REGIONS[region]
    sex = "f" if source.random() < 0.53 else "m"
    age = 15 + int(source.random() * 75)
    working = age < 68 and source.random() < chance + (0.12 if 25 <= age < 55 else -0.1)
    looking = not working and age < 65 and source.random() < 0.16
    status = "employed" if working else "unemployed" if looking else "inactive"
    hours = pay = ""
    if working:
        worked = 36 + int(bell(source) * 24)
        hours = str(worked)
        if source.random() < 0.93:
            level = 14 + 12 * bell(source) + (3 if region == "south" else 0)
            pay = f"{max(level, 5) * worked * 4.3:.2f}"
    young = 1.7 if age < 35 else 1.0  # the young answer less often
    weight = f"{people * young * (0.8 + 0.4 * source.random()):.2f}"
    return [region, sex, str(age), status, hours, pay, SPOILT.get(number, weight)]


def lines() -> Iterator[str]:
    """Give the header and every answer, without line ends."""
    source = Random(SEED)  # noqa: S311 - sample data, not noise
    yield HEADER
    for number in range(ANSWERS):
        yield ",".join(one_answer(source, number))


def main() -> None:
    """Write the file beside this program, or where the first argument says."""
    target = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("labour_survey.csv")
    target.write_bytes("".join(f"{line}\n" for line in lines()).encode("utf-8"))


if __name__ == "__main__":
    main()
