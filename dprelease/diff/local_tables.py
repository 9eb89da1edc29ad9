"""Changes of record-level tables: what they publish, and what each costs a unit."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dprelease.diff.changes import Change, Kind, Pair, Value, listed
from dprelease.model import Perturb, Plan

_MORE = "more of each record is published"
_ROWS = "each record is published, perturbed, and how many there are"


def perturb_changes(pair: Pair) -> Iterator[Change]:
    """Every change of a record-level table; weaker where a unit's loss in the table grows.

    Another mechanism, other weights or other columns at the same epsilon change errors and what is
    published, not the guarantee.
    """
    old, new = ({each.name: each for each in release.perturbs} for release in pair.releases)
    for name in dict.fromkeys((*old, *new)):
        key = f"perturb[{new[name].number}]" if name in new else "perturb"
        what = f"table {name}"
        if name not in new:
            yield Change(Kind.OTHER, what, _summary(old[name]), None, "removed", "perturb")
        elif name not in old:
            yield Change(Kind.OTHER, what, None, _summary(new[name]), f"added: {_ROWS}", key)
        else:
            yield from _losses(pair, old[name], new[name], key)
            yield from _asked(old[name], new[name], key)


def _losses(pair: Pair, old: Perturb, new: Perturb, key: str) -> Iterator[Change]:
    before, after = _loss(pair.old, old), _loss(pair.new, new)
    for name, was, now in zip(("epsilon", "delta"), before, after, strict=True):
        if was != now:
            kind = Kind.WEAKER if now > was else Kind.STRONGER
            why = "what the whole table costs one unit"
            yield Change(kind, f"table {new.name}: {name}", was, now, why, key)


def _loss(plan: Plan, perturb: Perturb) -> tuple[Fraction, Fraction]:
    """Epsilon and delta as the spec states them; of a chance of the truth, what that comes to.

    The losses of the laws themselves are a hair smaller, by how their chances are rounded.
    """
    if perturb.truth is not None:
        loss = next(step.loss for step in plan.records if step.perturb.name == perturb.name)
        return loss.epsilon, loss.delta
    if perturb.epsilon is not None:
        return perturb.epsilon, perturb.delta
    total = plan.release.privacy
    return total.epsilon or Fraction(0), total.delta


def _asked(old: Perturb, new: Perturb, key: str) -> Iterator[Change]:
    what = f"table {new.name}"
    if old.truth != new.truth:
        yield Change(Kind.OTHER, f"{what}: truth", old.truth, new.truth, "see its epsilon", key)
    before, after = ([column.name for column in table.columns] for table in (old, new))
    if before != after:
        yield Change(
            Kind.OTHER, f"{what}: columns", listed(before, 12), listed(after, 12),
            _columns(before, after), key,
        )  # fmt: skip
    facts = _facts(old), _facts(new)
    for name in after:
        if name in facts[0]:
            yield from _differences(f"{what}: {name}: ", facts[0][name], facts[1][name], key)


def _columns(before: list[str], after: list[str]) -> str:
    added = [name for name in after if name not in before]
    gone = [name for name in before if name not in after]
    said = [
        *([f"new: {listed(added)}: {_MORE}"] if added else []),
        *([f"gone: {listed(gone)}"] if gone else []),
    ]
    return "; ".join(said) if said else "in another order"


def _facts(perturb: Perturb) -> dict[str, dict[str, Value]]:
    """What is asked of each column; what is declared of it is told of the column itself."""
    whole = sum((column.weight for column in perturb.columns), Fraction(0))
    return {
        column.name: {
            "mechanism": str(column.mechanism),
            "published as": "labels" if column.group is not None else "numbers",
            "weight": column.weight,
            "share": column.weight / whole,
        }
        for column in perturb.columns
    }


def _differences(
    what: str, old: dict[str, Value], new: dict[str, Value], key: str
) -> Iterator[Change]:
    for name in ("mechanism", "published as"):
        if old[name] != new[name]:
            yield Change(Kind.OTHER, f"{what}{name}", old[name], new[name], "", key)
    # Other columns change every share, and are told; weights in the same ratio change none.
    if old["weight"] != new["weight"] and old["share"] != new["share"]:
        yield Change(Kind.OTHER, f"{what}weight", old["weight"], new["weight"], "", key)


def _summary(perturb: Perturb) -> str:
    names = listed([column.name for column in perturb.columns], 12)
    return f"records perturbed, with {names}"
