"""Whole releases of drawn specs: what ``check`` accepts runs to its end.

python tests/fuzz/fuzz_releases.py --minutes 60

Each spec goes through check, plan, rehearse, run, a second run, report in each format, show,
combine, budget, estimate, diff and a release that follows it. Nothing ends with an internal error,
and what is refused is refused before the charge.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import csv
import datetime
import io
import json
import math
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]

import databases  # noqa: E402
import workbooks  # noqa: E402
from drawn_specs import REQUIRED, Draw, Spec  # noqa: E402

import dprelease  # noqa: E402
from dprelease import errors  # noqa: E402
from dprelease.cli.guard import execute  # noqa: E402
from dprelease.errors import ExitCode, Failure  # noqa: E402
from dprelease.report_format import REPORT_FORMATS  # noqa: E402

MOST_MENDS = 30
PERIOD = "2026"
DATABASE = "DATABASE_OF_DRAWN_SPECS"
LARGER = 10_000  # a total that any query can do with
UNREADABLE = ("?", "1e999", "2026-13-01", "99999999999999999999", " ", "NaN", "caf\xe9")


class Finding(Exception):
    """A step that ended as none may."""


class Step(NamedTuple):
    """A command that was run, what it ended with, and what it wrote."""

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str


# --- files ----------------------------------------------------------------------------------------


def is_periodic(spec: Spec) -> bool:
    """Whether the spec's data is that of a period."""
    return "{period}" in spec["data"].get("path", "")


def toml_value(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float):
        return f"{Decimal(str(value)):f}"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime.date):
        return str(value).replace(" ", "T")
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        pairs = (f"{toml_value(key)} = {toml_value(part)}" for key, part in value.items())
        return f"{{ {', '.join(pairs)} }}"
    return str(value)


def toml_text(spec: Spec) -> str:
    """A spec as a file."""
    lines = []
    for name, section in spec.items():
        if isinstance(section, list) and name in {"query", "perturb"}:
            for table in section:
                lines += [f"\n[[{name}]]", *_pairs(table)]
        elif name == "columns":
            for column, declared in section.items():
                lines += [f"\n[columns.{toml_value(column)}]", *_pairs(declared)]
        elif isinstance(section, dict):
            lines += [f"\n[{name}]", *_pairs(section)]
        else:
            lines.insert(0, f"{name} = {toml_value(section)}")
    return "\n".join(lines) + "\n"


def _pairs(table: Spec) -> list[str]:
    return [f"{key} = {toml_value(value)}" for key, value in table.items()]


def write_data(path: Path, draw: Draw, form: str, rng: Random) -> None:
    """Write the records, in CSV with some that can't be read."""
    if form == "csv":
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([column.name for column in draw.fields])
            for row in draw.rows:
                writer.writerow(
                    [
                        rng.choice(UNREADABLE) if rng.random() < 0.03 else _field(row[column.name])
                        for column in draw.fields
                    ]
                )
        return
    names = [column.name for column in draw.fields]
    rows = [[row[name] for name in names] for row in draw.rows]
    if form == "adbc":
        databases.write_to_sqlite(path, names, rows)
        return
    if form == "xlsx":
        workbooks.table(path, [names, *(list(map(_cell, row)) for row in rows)])
        return
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    types = {
        "integer": pa.int64(), "float": pa.float64(), "decimal": pa.decimal128(12, 3),
        "string": pa.string(), "boolean": pa.bool_(), "date": pa.date32(),
        "timestamp": pa.timestamp("us"), "unit": pa.string(),
    }  # fmt: skip
    table = pa.table(
        {
            column.name: _beyond(
                pa.array([row[column.name] for row in draw.rows], types[column.kind]), rng
            )
            for column in draw.fields
        }
    )
    if form == "parquet":
        pq.write_table(table, path)
    else:
        feather.write_feather(table, str(path), compression="uncompressed")


def _cell(value: Any) -> Any:
    """A value that a cell of a workbook can hold."""
    if isinstance(value, str):
        return "".join(char for char in value if char.isprintable())[:30_000]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return str(value) if isinstance(value, datetime.date) and value.year < 1900 else value


def _beyond(values: Any, rng: Random) -> Any:
    """The array, now and then with a moment that no calendar has."""
    import pyarrow as pa

    numbers = {"date32[day]": (pa.int32(), 2**30), "timestamp[us]": (pa.int64(), 2**62)}
    if str(values.type) not in numbers or not len(values) or rng.random() < 0.7:
        return values
    kind, extreme = numbers[str(values.type)]
    changed = values.view(kind).to_pylist()
    changed[rng.randrange(len(changed))] = rng.choice((extreme, -extreme))
    return pa.array(changed, kind).view(values.type)


def _field(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- what is refused is taken out -----------------------------------------------------------------


def mended(spec: Spec, folder: Path) -> Spec | None:
    """The spec without what is refused; None where nothing is left, or it does not help."""
    spec = copy.deepcopy(spec)
    for _ in range(MOST_MENDS):
        path = folder / "spec.toml"
        path.write_text(toml_text(spec), encoding="utf-8")
        try:
            dprelease.plan(dprelease.load(path, period=PERIOD if is_periodic(spec) else None))
        except Failure as failure:
            if failure.exit_code not in {ExitCode.SPEC, ExitCode.BUDGET}:
                raise Finding(f"plan: {failure}") from failure
            keys = [complaint.key for complaint in failure.complaints]
            if LARGER not in spec["privacy"].values() and _is_about_budget(failure):
                spec["privacy"] |= {"epsilon": LARGER, "delta": Decimal("1e-5")}
                spec["privacy"].pop("rho", None)
                continue
            if not _taken_out(spec, keys):
                return None
            continue
        return spec
    return None


def _is_about_budget(failure: Failure) -> bool:
    codes = {complaint.code for complaint in failure.complaints}
    return "E223" in codes or any(code.startswith("E3") for code in codes)


_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"|([^.\[\]]+)|\[(\d+)\]')


def _path(key: str) -> list[str | int]:
    found = _KEY.finditer(key)
    return [int(part[3]) if part[3] else part[2] or json.loads(f'"{part[1]}"') for part in found]


def _taken_out(spec: Spec, keys: Sequence[str]) -> bool:
    """Take out what the complaints name: a key that may be absent, or all of its table."""
    gone = False
    whole: dict[str, set[Any]] = {"query": set(), "perturb": set()}
    for key in dict.fromkeys(keys):
        section, *rest = _path(key) or [""]
        table = spec.get(str(section))
        if section in whole and rest:
            number, *inner = rest
            if inner and inner[0] not in REQUIRED and inner[0] in table[number]:
                table[number].pop(inner[0])
            else:
                whole[str(section)].add(number)
        elif section == "columns" and rest:
            name, *inner = rest
            if inner and inner[0] not in REQUIRED and inner[0] in table.get(name, {}):
                table[name].pop(inner[0])
            elif table.pop(name, None) is None:
                continue
        elif isinstance(table, dict) and rest and rest[0] not in REQUIRED and rest[0] in table:
            table.pop(rest[0])
        elif spec.get("query"):
            whole["query"].add(len(spec["query"]) - 1)
        else:
            continue
        gone = True
    for section, numbers in whole.items():
        if numbers:
            spec[section] = [t for at, t in enumerate(spec[section]) if at not in numbers]
            if not spec[section]:
                del spec[section]
    return gone and bool(spec.get("query") or spec.get("perturb"))


# --- the steps ------------------------------------------------------------------------------------

_CAUSES: list[str] = []


def _noted(problem: BaseException) -> str:
    _CAUSES.append("".join(traceback.format_exception(problem)))
    return _KIND_OF(problem)


_KIND_OF = errors.name_kind


@contextlib.contextmanager
def causes_noted() -> Iterator[None]:
    """Note the traceback of an internal error, which the program does not show."""
    from dprelease.cli import guard
    from dprelease.release import run

    for module in (guard, run):
        module.name_kind = _noted  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module in (guard, run):
            module.name_kind = _KIND_OF  # type: ignore[attr-defined]


def command(folder: Path, *arguments: str, allowed: Sequence[int] = (0,)) -> Step:
    """Run a command in the folder. Raises Finding where it ends as it may not."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    before = sys.stdout, sys.stderr
    _CAUSES.clear()
    with contextlib.chdir(folder):
        sys.stdout, sys.stderr = streams
        try:
            code = execute(arguments)
        finally:
            sys.stdout, sys.stderr = before
    texts = []
    for stream in streams:
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    step = Step(arguments, code, *texts)
    broken = "Traceback" in step.err or any(code in step.err for code in ("E599", "E701", "E702"))
    if code not in allowed or broken:
        told = "".join(_CAUSES)
        raise Finding(f"{' '.join(arguments)}: exit {code}\n{step.err}\n{told}")
    return step


def release(spec: Spec, folder: Path, rng: Random, steps: Counter[str]) -> None:
    """Take a spec that is planned through all commands. Raises Finding."""

    period = ["--period", PERIOD] if is_periodic(spec) else []

    def done(name: str, *arguments: str, allowed: Sequence[int] = (0,)) -> Step:
        steps[name] += 1
        of = period if name in {"check", "plan", "rehearse", "run", "diff"} else []
        return command(folder, name, *arguments, *of, allowed=allowed)

    def now_and_then() -> bool:
        return rng.random() < 0.4  # each plans anew, which takes most of the time

    if now_and_then():
        done("check", "spec.toml")
    page = ["--html", "plan.html"] if now_and_then() else []
    done("plan", "spec.toml", "-o", "plan.json", *page)
    if now_and_then():
        distribution = rng.choice(("uniform", "skewed"))
        done("rehearse", "spec.toml", "--rows", "30", "--distribution", distribution)
        done("show", "out-rehearsal")
    done("run", "spec.toml", "--plan", "plan.json")
    if now_and_then():
        again = done("run", "spec.toml", "--json")
        if json.loads(again.out)["charged"]:
            raise Finding("the second run was charged")
    for format in rng.sample([name for name, form in REPORT_FORMATS.items() if not form.extra], 2):
        done("report", "out", "--format", format)
    done("show", "out")
    done("show", "out", "--json")
    report = json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))
    for expression in expressions(report, rng):
        done("combine", "out", expression, allowed=(0, 2))
    done("budget", "show", "ledger.sqlite")
    for table in spec.get("perturb", ()):
        done("estimate", f"out/{table['name']}.{spec['output']['format']}")
    if now_and_then():
        later = copy.deepcopy(spec)
        later["release"] |= {"name": "later", "previous": "out/report.json"}
        later["output"]["path"] = "later"
        (folder / "later.toml").write_text(toml_text(later), encoding="utf-8")
        done("diff", "spec.toml", "later.toml", allowed=(0, 1))
        done("run", "later.toml", "-q")
        done("show", "later")


def expressions(report: dict[str, Any], rng: Random) -> list[str]:
    """Some combinations of published figures, and some that are none."""
    made = []
    for table in report["tables"]:
        figures = [
            column["name"]
            for column in table["columns"]
            if column["query"] and column["kind"] in {"integer", "number"}
        ]
        keys = [column["name"] for column in table["columns"] if column["kind"] == "key"]
        for figure in rng.sample(figures, min(2, len(figures))):
            name = f"{table['name']}.{figure}"
            made += [f"sum({name})", f"mean({name})", f"{name} - 2 * {name}", f"{name} / {name}"]
            made += [f'{figure}[{key}="a"]' for key in keys[:1]]
    return rng.sample(made, min(5, len(made)))


def drawn(seed: int, folder: Path) -> tuple[Spec, Random]:
    """The spec of a seed, with its data in the folder; nothing of it is checked yet."""
    rng = Random(seed)
    draw = Draw(rng)
    spec = draw.spec()
    form = rng.choice(("csv", "csv", "csv", "parquet", "arrow", "xlsx", "adbc"))
    if form == "adbc" and len({column.name.casefold() for column in draw.fields}) < len(
        draw.fields
    ):
        form = "csv"  # in a database these are one name
    path = f"data.{form}"
    if form == "adbc":
        spec["data"] |= {"format": form, "driver": "sqlite", "uri_env": DATABASE, "table": "t"}
        del spec["data"]["path"]
        os.environ[DATABASE] = str(folder / path)
    else:
        periodic = rng.random() < 0.1
        spec["data"]["path"] = f"data-{{period}}.{form}" if periodic else path
        if periodic:
            spec["ledger"]["disjoint_periods"] = rng.random() < 0.5
            path = f"data-{PERIOD}.{form}"
    write_data(folder / path, draw, form, rng)
    if form != "csv":
        for column in spec["columns"].values():
            column.pop("format", None)
            column.pop("zone", None)
    return spec, rng


def tried(seed: int, steps: Counter[str]) -> bool:
    """Draw a spec and release it; False where nothing of it is accepted. Raises Finding."""
    folder = Path(tempfile.mkdtemp(prefix=f"dprelease-{seed}-"))
    try:
        spec, rng = drawn(seed, folder)
        accepted = mended(spec, folder)
        if accepted is None:
            return False
        release(accepted, folder, rng, steps)
    except Finding as finding:
        text = (folder / "spec.toml").read_text(encoding="utf-8")
        raise Finding(f"seed {seed}\n{text}\n{finding}") from None
    except Exception as problem:
        text = (folder / "spec.toml").read_text(encoding="utf-8")
        told = traceback.format_exc()
        raise Finding(f"seed {seed}\n{text}\n{told}") from problem
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return True


class Tally(NamedTuple):
    """How many specs were drawn, how many of them released, and the findings."""

    drawn: int
    released: int
    steps: Counter[str]
    findings: list[str]


def run_for(seconds: float, seed: int, most: int = sys.maxsize, most_findings: int = 1) -> Tally:
    """Try one seed after the other until the time is over, or so many were tried."""
    steps: Counter[str] = Counter()
    findings: list[str] = []
    end, number, released = time.monotonic() + seconds, 0, 0
    with causes_noted():
        while number < most and time.monotonic() < end and len(findings) < most_findings:
            try:
                released += tried(seed + number, steps)
            except Finding as finding:
                findings.append(str(finding))
                sys.stdout.write(f"{finding}\n{'-' * 80}\n")
                sys.stdout.flush()
            number += 1
    return Tally(number, released, steps, findings)


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--specs", type=int, default=sys.maxsize)
    parser.add_argument("--findings", type=int, default=1, help="stop at so many")
    given = parser.parse_args(arguments)
    started = time.monotonic()
    tally = run_for(given.minutes * 60, given.seed, given.specs, given.findings)
    sys.stdout.write(
        f"{tally.drawn} specs from seed {given.seed} in {time.monotonic() - started:.0f} s, "
        f"{tally.released} released, {len(tally.findings)} findings; {dict(tally.steps)}\n"
    )
    return bool(tally.findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
