"""Where readers' exceptions end: counted by reader, named by object, told in one line each."""

import logging

import pytest

from doorman.base.errors import internal
from doorman.base.reader_faults import SET_ASIDE_MAX, ReaderFaults, SetAside


def fail() -> None:
    raise KeyError("type")


def caught(faults: ReaderFaults, key: str, revision: int = 7) -> None:
    try:
        fail()
    except KeyError as error:
        faults.caught("informer", error, key=key, revision=revision)


def test_fault_is_counted_and_its_object_named_until_it_is_written_again() -> None:
    faults = ReaderFaults()
    caught(faults, "pods/default/b")
    caught(faults, "pods/default/a")
    assert faults.counts == {"informer": 2}
    assert faults.set_aside == [
        SetAside("pods/default/a", 7, "informer"),
        SetAside("pods/default/b", 7, "informer"),
    ]
    faults.written("pods/default/a")
    assert [one.key for one in faults.set_aside] == ["pods/default/b"]
    assert faults.counts == {"informer": 2}, "what has happened has happened"


def test_traceback_of_one_place_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    faults = ReaderFaults()
    with caplog.at_level(logging.ERROR):
        caught(faults, "pods/default/a")
        caught(faults, "pods/default/b")
    first, second = caplog.records
    assert first.getMessage() == "informer: pods/default/a at revision 7 is set aside: KeyError: 'type'"
    assert first.exc_info is not None
    assert not second.exc_info


def test_fault_that_lies_in_the_data_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        ReaderFaults().caught("watchcache", internal("damaged"), key="pods/default/a", revision=3)
    [record] = caplog.records
    assert not record.exc_info


def test_names_are_bounded_and_counts_are_not() -> None:
    faults = ReaderFaults()
    for number in range(SET_ASIDE_MAX + 5):
        caught(faults, f"pods/default/{number}")
    assert len(faults.set_aside) == SET_ASIDE_MAX
    assert faults.counts["informer"] == SET_ASIDE_MAX + 5
