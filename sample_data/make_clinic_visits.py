"""Write clinic_visits.csv: about 20,000 made-up visits to made-up clinics.

Everything here is synthetic. No person, clinic or price is real, and no real file was looked at
to make it. A fixed seed gives the same bytes on every machine: only ``random.random()`` is used,
whose sequence Python keeps stable, and no function of the C mathematics library.

The file is untidy on purpose, because real extracts are: see README.md in this folder.

Usage: python make_clinic_visits.py [OUTPUT]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from random import Random

SEED = 20_250_101
VISITS = 20_000
FIRST_DAY = date(2025, 1, 1)
HEADER = (
    "patient_id,visit_date,region,department,diagnosis,age,urgent,waiting_days,cost,"
    "satisfaction,note"
)

REGIONS = {"north": 24, "south": 20, "east": 18, "west": 17, "central": 15, "islands": 6}
DEPARTMENTS = {"general": 54, "emergency": 28, "surgery": 18}  # of adults; "paediatrics" below 16
DIAGNOSES = {
    "hypertension": (15, 62),
    "respiratory infection": (14, 34),
    "back pain": (12, 47),
    "diabetes type 2": (10, 60),
    "injury": (10, 36),
    "anxiety or depression": (9, 41),
    "asthma": (8, 28),
    "skin condition": (7, 38),
    "digestive disorder": (6, 45),
    "heart disease": (4, 69),
    "pregnancy care": (3, 30),
    "cancer": (2, 63),
}
MEAN_COST = {"general": 70, "emergency": 190, "surgery": 520, "paediatrics": 85}
NOTES = ("", "", "", "", "", "", "", "follow-up", "first visit", "referred")


def pick(source: Random, weights: dict[str, int]) -> str:
    """Draw a key with probability proportional to its weight."""
    point = source.random() * sum(weights.values())
    for key, weight in weights.items():
        point -= weight
        if point < 0:
            return key
    return next(reversed(weights))


def below(source: Random, limit: int) -> int:
    """Draw an integer from 0 to ``limit - 1``."""
    return int(source.random() * limit)


def visits_of_a_patient(source: Random) -> int:
    """Draw how often a patient comes: mostly once or twice, a few more than forty times."""
    return 1 + min(48, int(0.9 / (source.random() + 0.018)) - 1 if source.random() < 0.7 else 0)


def one_visit(source: Random, patient: int, region: str, age: int) -> list[str]:
    """Draw one tidy record, as texts in the order of the header."""
    department = "paediatrics" if age < 16 else pick(source, DEPARTMENTS)
    likely = {name: 1 + 400 * weight // (25 + abs(age - mean_age))
              for name, (weight, mean_age) in DIAGNOSES.items()}  # fmt: skip
    urgent = source.random() < (0.8 if department == "emergency" else 0.1)
    spread = source.random() * source.random()
    waiting = int(spread * (6 if urgent else 180 if department == "surgery" else 90))
    cents = int(MEAN_COST[department] * 400 * source.random() * source.random())
    satisfaction = "" if source.random() < 0.35 else str(1 + int(5 * source.random() ** 0.5))
    return [
        f"P{patient:05d}",
        (FIRST_DAY + timedelta(days=below(source, 365))).isoformat(),
        region,
        department,
        pick(source, likely),
        str(age),
        "true" if urgent else "false",
        str(waiting),
        f"{cents // 100}.{cents % 100:02d}",
        satisfaction,
        NOTES[below(source, len(NOTES))],
    ]


def blemish(source: Random, visit: list[str]) -> list[str]:
    """Spoil about one record in twenty, in the ways that extracts are spoilt."""
    if source.random() >= 0.05:
        return visit
    column, value = (
        (7, ""),
        (7, "n/a"),
        (7, "-3"),
        (7, "999"),
        (8, ""),
        (8, f"{visit[8]} EUR"),
        (8, "unknown"),
        (2, "abroad"),
        (2, ""),
        (4, "other"),
        (5, "-1"),
        (5, "130"),
        (5, ""),
        (6, "?"),
        (1, "2025-02-30"),
        (10, '"moved, then called back"'),
    )[below(source, 16)]
    return [*visit[:column], value, *visit[column + 1 :]]


def lines() -> Iterator[str]:
    """Give the header and every record, without line ends, in order of the date."""
    source = Random(SEED)  # noqa: S311 - sample data, not noise
    records: list[list[str]] = []
    patient = 0
    while len(records) < VISITS:
        patient += 1
        region = pick(source, REGIONS)
        age = below(source, 98) if source.random() < 0.4 else below(source, 60) + below(source, 36)
        for _ in range(visits_of_a_patient(source)):
            records.append(blemish(source, one_visit(source, patient, region, age)))
    records = sorted(records[:VISITS], key=lambda visit: (visit[1], visit[0]))
    # One quote that is never closed: a careless reader swallows the records that follow it.
    records[VISITS // 3][10] = '"left before being seen'
    yield HEADER
    yield from (",".join(visit) for visit in records)


def main() -> None:
    """Write the file beside this program, or where the first argument says."""
    target = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("clinic_visits.csv")
    target.write_bytes("".join(f"{line}\n" for line in lines()).encode("utf-8"))


if __name__ == "__main__":
    main()
