"""Which data directories a clock may be used with, and where it goes on."""

from pathlib import Path

import pytest

from doorman.runtime.clock.clock_file import WrongClock, check_clock, open_clock
from doorman.store.data_directory import DATABASE


def test_store_of_real_time_is_refused_on_a_movable_clock(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"something")
    check_clock(tmp_path, is_movable=False)
    with pytest.raises(WrongClock, match="was written in real time"):
        check_clock(tmp_path, is_movable=True)


def test_store_of_a_movable_clock_is_refused_in_real_time(tmp_path: Path) -> None:
    _, file = open_clock(tmp_path, 0.0, 1000.9)
    assert file is not None
    file.close()
    (tmp_path / DATABASE).write_bytes(b"something")
    check_clock(tmp_path, is_movable=True)
    with pytest.raises(WrongClock, match="was written on a virtual clock"):
        check_clock(tmp_path, is_movable=False)


def test_new_directory_takes_either(tmp_path: Path) -> None:
    for is_movable in (True, False):
        check_clock(tmp_path / "new", is_movable=is_movable)
        check_clock(None, is_movable=is_movable)


def test_clock_begins_at_a_whole_second_and_goes_on_where_it_was(tmp_path: Path) -> None:
    clock, file = open_clock(tmp_path, 0.0, 1000.9)
    assert clock.now() == 1000.0
    clock.move_to(5000.25)
    again, other = open_clock(tmp_path, 60.0, 2000.0)
    assert again.now() >= 5000.25
    for one in (file, other):
        assert one is not None
        one.close()
