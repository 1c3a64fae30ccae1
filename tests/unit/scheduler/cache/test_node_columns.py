"""Value columns stay right when values come and go by the thousand."""

import numpy as np

from doorman.scheduler.cache.node_columns import STALE_VALUES_MIN, Lookup, ValueColumn


def test_lookup_asks_once_a_value_and_learns_new_ones() -> None:
    column = ValueColumn[str | None](None, capacity=4)
    asked: list[str | None] = []

    def question(value: str | None) -> int:
        asked.append(value)
        return len(value or "")

    lookup = Lookup(column, question)
    column.set(0, "aa")
    column.set(1, "aa")
    assert lookup.at(slice(None)).tolist() == [2, 2, 0, 0]
    column.set(2, "bbb")
    assert lookup.at(np.array([2, 0])).tolist() == [3, 2]
    assert int(lookup.at(2)) == 3
    assert asked == [None, "aa", "bbb"]


def test_column_forgets_values_that_no_row_has_any_more() -> None:
    column = ValueColumn[str | None](None, capacity=4)
    lookup = Lookup(column, lambda value: int(value or 0))
    column.set(3, "7")
    for number in range(3 * STALE_VALUES_MIN):
        column.set(0, str(number))
        assert int(lookup.at(0)) == number
        assert int(lookup.at(3)) == 7
    assert len(column.values) <= STALE_VALUES_MIN + 2
    assert column.version > 0
