"""Reading etcd where members cannot be asked how far a watch is, and where they can."""

import pytest

from doorman.store.etcd.etcd_reader import has_progress_requests


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.4.23", False), ("3.4.31", True), ("3.5.1", False), ("3.5.12", False), ("3.5.13", True), ("3.6.0", True),
        ("3.7.0-alpha.0", True), ("4.0.0", True), ("", False),
    ],
)  # fmt: skip
def test_progress_is_asked_for_only_where_the_answer_can_be_trusted(version: str, expected: bool) -> None:
    assert has_progress_requests(version) is expected
