"""The groups of `by`, public or private, and whether private keys may be selected."""

from __future__ import annotations

from dprelease.model import Group, KeySelection
from dprelease.spec.checks.queries.groups import make_group
from dprelease.spec.checks.queries.query_context import Asked
from dprelease.spec.complaints.quoting import show

_PUBLIC = "keys, keys_file or bins"
_SELECTED = "partition_selection = { delta = 1e-8 } shows those of many units"


def read_groups(asked: Asked) -> tuple[Group, ...] | None:
    """Make the groups of `by`; None when one of them is not usable."""
    groups: list[Group] = []
    usable = "by" not in asked.part.bad
    seen: set[str] = set()
    for number, name in enumerate(asked.model.by or ()):
        if name in seen:
            path = asked.path("by", number)
            asked.context.reporter.complain(
                "E231", f"{show(name)} is named twice", path, "keep one"
            )
            usable = False
            continue
        seen.add(name)
        group = _group(asked, name, number)
        if group is None:
            usable = False
        else:
            groups.append(group)
    if not usable:
        return None
    if asked.model.partition_selection is not None and not any(each.private for each in groups):
        message = "partition_selection, but no group has private keys"
        hint = "leave it out: public keys are shown, whoever has them"
        asked.complain("partition_selection", "E111", message, hint)
    return tuple(groups)


def read_selection(asked: Asked) -> KeySelection | None:
    """Give what the query says of the selection of private keys."""
    section = asked.model.partition_selection
    if section is None or section.delta is None:
        return None
    return KeySelection(section.delta, section.epsilon)


def _group(asked: Asked, name: str, number: int) -> Group | None:
    if not asked.check_shared(name, "by", number):  # before it is asked to be declared
        return None
    known = asked.find(name, "by", number)
    if known is None:
        return None
    group = make_group(known.column)
    if group is not None or not known.keyless:
        return group
    if asked.model.partition_selection is not None:
        column = known.column
        return Group(name, column.type, (), null_label=column.null_value, private=True)
    if asked.part.sound("partition_selection"):
        message = f"{show(name)} has no public keys, so which groups appear would leak"
        asked.complain("by", "E202", message, f"{_PUBLIC}; or {_SELECTED}")
    return None
