"""Every mistake in a spec has its code, its exact place, its words and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from mistakes.corpus import FILES, HERE, cases, complaints, told, whole


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(HERE).as_posix())
def test_what_is_said_of_a_mistake(file: Path) -> None:
    wrong = []
    for case in cases(file):
        found = complaints(whole(file, case.text))
        said = "\n".join(map(told, found))
        if said != case.said or not said:
            wrong.append(f"{file}:{case.line}\n{case.text}\nexpected\n{case.said}\nfound\n{said}")
        assert file.stem in {complaint.code for complaint in found}, f"{file}:{case.line}"
        assert all(each.hint for each in found), f"{file}:{case.line}"
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("folder", ["queries", "records"])
def test_the_good_spec_has_no_mistake(folder: str) -> None:
    assert complaints((HERE / folder / "base.toml").read_text(encoding="utf-8")) == []
