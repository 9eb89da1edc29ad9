"""Every mistake has its code, its exact place and a remedy. One edit of a good spec each."""

from __future__ import annotations


def test_messages_never_hold_control_characters(spoilt):
    found = spoilt(("[ledger]", '"\\u001b[31m\\u202e" = 1\n[ledger]'))
    assert "\x1b" not in str(found[0])
    assert "\u202e" not in str(found[0])
    assert "\\u001b" in str(found[0])


def test_long_values_are_cut(spoilt):
    found = spoilt(('name = "headcount"', 'name = "' + "x" * 100_000 + '"'))
    assert len(str(found[0])) < 500


def test_too_many_cells(complaints, simple):
    keys = ", ".join(f'"k{i}"' for i in range(1001))
    text = simple.replace('"north", "south", "east"', keys)
    text += f'[columns.r2]\ntype = "string"\nkeys = [{keys}]\n'
    text = text.replace('by = ["region"]\nepsilon = 0.4', 'by = ["region", "r2"]\nepsilon = 0.4')
    (found,) = complaints(text)
    assert (found.code, found.key) == ("E222", "query[0].by")
    assert "1002001 cells" in found.message
