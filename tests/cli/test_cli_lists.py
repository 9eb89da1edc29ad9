"""Lists of public values in files, through the command line and from Python."""

import hashlib

import pytest

import dprelease

KEYS = 'keys = ["north", "south"]'


@pytest.fixture
def outside(spec, folder):
    """A spec whose keys are in a file outside of its folder."""
    (folder / "regions.txt").write_text("north\nsouth\n")
    (folder / "specs").mkdir()
    changes = ((KEYS, 'keys_file = "../regions.txt"'), ('"small.csv"', '"../small.csv"'))
    return spec(*changes, name="specs/small.toml")


@pytest.mark.parametrize("command", [("check",), ("plan",), ("diff", "small.toml"), ("run",)])
def test_a_list_outside_of_the_specs_folder_must_be_allowed(cli, folder, outside, command):
    answer = cli(*command, outside)
    assert (answer.code, answer.out) == (2, "")
    assert 'E251 the keys_file "../regions.txt" lies outside the spec\'s folder' in answer.err
    assert "--allow-outside-lists" in answer.err
    assert not (folder / "specs" / "out").exists()
    answer = cli(*command, "--allow-outside-lists", outside)
    assert answer.code in {0, 1 if command[0] == "diff" else 0}
    assert "E251" not in answer.err


def test_from_python(folder, outside):
    spec = folder / outside
    for call in (dprelease.load, dprelease.plan, dprelease.run):
        with pytest.raises(dprelease.Failure, match="E251"):
            call(spec)
    release = dprelease.load(spec, allow_outside_lists=True)
    assert dprelease.plan(spec, allow_outside_lists=True) == dprelease.plan(release)
    assert dprelease.run(spec, allow_outside_lists=True).charged
    assert not dprelease.run(release).charged


def test_plan_names_the_files_and_an_approved_one_holds_for_them(cli, spec, folder):
    (folder / "regions.txt").write_text("north\nsouth\n")
    name = spec((KEYS, 'keys_file = "regions.txt"'))
    answer = cli("plan", "-o", "approved.json", name)
    digest = hashlib.sha256(b"north\nsouth\n").hexdigest()
    assert (
        "list     regions.txt (keys_file of region): of its lines each is published, as a label; "
        f"SHA-256 {digest}\n"
    ) in answer.out
    (folder / "regions.txt").write_text("north\n\nsouth\n")
    answer = cli("run", "--plan", "approved.json", name)
    assert answer.code == 2
    assert "(differs in lists)" in answer.err
    (folder / "regions.txt").write_text("north\nsouth\n")
    assert cli("run", "--plan", "approved.json", name).code == 0
    assert digest in (folder / "out" / "report.md").read_text()
