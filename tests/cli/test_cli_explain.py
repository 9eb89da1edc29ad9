"""``dprelease explain``: every code of the one list, in words that a terminal can show."""

import json
import re

from dprelease.cli.explain_command import list_groups

CODES = [code for group in list_groups() for code in group.codes]


def test_a_code_is_explained_with_what_holds_and_what_to_do(cli):
    answer = cli("explain", "E201")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (
        "E201  a sum or mean needs the column's bounds\n"
        "      The meaning of a spec. Exit code 2. No data was opened.\n"
        "      What to do: State `lower` and `upper`: Choose bounds "
        "(docs/how-to/choose-bounds-and-unit.md).\n"
    )


def test_every_code_is_explained_alone_and_in_the_list(cli):
    told = json.loads(cli("explain", "--json", *CODES).out)
    assert told["schema"] == "dprelease/codes/1"
    assert [fact["code"] for fact in told["codes"]] == CODES
    for fact in told["codes"]:
        assert all(fact.values()), fact
        assert not re.search(r"\]\(|\.\./", fact["remedy"]), fact
    listed = cli("explain").out.splitlines()
    assert [line.split()[0] for line in listed] == CODES


def test_links_of_the_reference_are_files_of_the_documentation(cli, request):
    told = json.loads(cli("explain", "--json").out)
    places = {
        place
        for fact in told["codes"]
        for place in re.findall(r"\((docs/[^)#]+)[^)]*\)", fact["remedy"])
    }
    assert len(places) > 5
    assert all((request.config.rootpath / place).is_file() for place in places)


def test_small_letters_will_do_and_several_codes_are_told_apart(cli):
    answer = cli("explain", "w201", "E301")
    assert [part.split()[0] for part in answer.out.split("\n\n")] == ["W201", "E301"]


def test_an_unknown_code_is_a_mistake_on_the_command_line(cli):
    answer = cli("explain", "E999")
    assert (answer.code, answer.out) == (2, "")
    assert 'no code "E999"' in answer.err
