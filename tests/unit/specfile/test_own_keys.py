"""Keys that statistics declare are read, described and told apart."""

import pytest

from dprelease.specfile.complaints.reporter import Refused
from dprelease.specfile.keys.number_texts import read_whole_number
from dprelease.specfile.keys.section_reader import TAKES
from dprelease.specfile.schema.query_keys import READERS
from dprelease.specfile.schema.sections import QuerySection
from dprelease.statistics.shared import spec_keys
from dprelease.statistics.statistic_registry import STATISTICS, list_own_keys


def test_each_kind_of_value_is_read_and_described() -> None:
    kinds = {value for value in vars(spec_keys).values() if isinstance(value, spec_keys.Kind)}
    assert kinds == set(READERS)
    assert set(READERS.values()) <= set(TAKES)


@pytest.mark.parametrize("name", STATISTICS)
def test_no_two_statistics_mean_different_things_by_a_key(name: str) -> None:
    for key in STATISTICS[name].keys.own:
        assert list_own_keys()[key.name] is key


def test_no_key_of_a_statistic_is_one_of_every_query() -> None:
    keys, own = QuerySection.KEYS, list_own_keys()
    # One that took the name of a key above would stand there, and one below would take its name.
    first = min(map(list(keys).index, own))
    assert list(keys)[first : first + len(own)] == list(own)
    assert all(keys[name].read is READERS[key.kind] for name, key in own.items())


@pytest.mark.parametrize("value", [1, 12, 10**6])
def test_whole_numbers(value: int) -> None:
    assert read_whole_number(value) == value


@pytest.mark.parametrize("value", [0, -1, 10**6 + 1, "12", True, [12]])
def test_no_whole_number(value: object) -> None:
    with pytest.raises(Refused) as caught:
        read_whole_number(value)
    assert caught.value.code == "E205"
