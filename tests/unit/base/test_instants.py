"""Instants as texts: whatever Go's `time.Parse` reads is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorman.api.machinery.go_scalars import MICRO_TIME_LAYOUT, TIME_LAYOUT, time_fault
from doorman.api.machinery.typed_decoding import OWN_DECODERS
from doorman.base.instants import from_time, to_micro_time, to_time

TEXTS = st.builds(
    "{:04d}-{:02d}-{:02d}T{}:{:02d}:{:02d}{}{}".format,
    st.integers(0, 3) | st.integers(0, 9999) | st.integers(9998, 9999),
    st.integers(0, 13),
    st.integers(0, 32),
    st.integers(0, 24).map(str) | st.integers(0, 24).map("{:02d}".format),
    st.integers(0, 60),
    st.integers(0, 60),
    st.sampled_from(("", ".5", ",25", ".123456", ",000001")),
    st.sampled_from(("Z", "+00:00", "-12:00", "+24:60", "-24:60", "+25:00")),
)


@given(text=TEXTS)
def test_what_go_reads_is_read_and_written_in_range(text: str) -> None:
    for layout, kind, write in ((TIME_LAYOUT, "time", to_time), (MICRO_TIME_LAYOUT, "microtime", to_micro_time)):
        if time_fault(text, layout):
            continue
        written = OWN_DECODERS[kind](text)
        assert time_fault(written, layout) == ""
        assert write(from_time(written)) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("9999-12-31T2:59:59Z", "9999-12-31T02:59:59Z", id="hour-of-one-digit"),
        pytest.param("2026-01-01T00:00:00+24:00", "2025-12-31T00:00:00Z", id="offset-of-a-day"),
        pytest.param("2026-03-01T00:30:00-00:30", "2026-03-01T01:00:00Z", id="west"),
        pytest.param("0001-01-01T12:00:00+01:00", "0001-01-01T11:00:00Z", id="first-year"),
        pytest.param("0000-02-29T00:00:00Z", "0001-01-01T00:00:00Z", id="before-the-first-year"),
        pytest.param("9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59Z", id="after-the-last-year"),
    ],
)
def test_edges_of_time(text: str, written: str) -> None:
    assert to_time(from_time(text)) == written


def test_year_0_lies_366_days_before_year_1() -> None:
    assert from_time("0001-01-01T00:00:00Z") - from_time("0000-01-01T00:00:00Z") == 366 * 86_400
