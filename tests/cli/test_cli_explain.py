"""``dprelease explain``: every code of the one list, in words that a terminal can show."""

import json
import re

from dprelease.errors import read_code_groups

CODES = [code for group in read_code_groups() for code in group.codes]


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
