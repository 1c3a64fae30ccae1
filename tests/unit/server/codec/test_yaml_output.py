"""YAML in the order and with the quotes of Go's library, and what was written is what is read."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from doorman.server.codec.yaml_output import member_order, quoting, to_yaml


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("NoSchedule", "NoSchedule", id="word"),
        pytest.param("7", '"7"', id="number"),
        pytest.param("1_000", '"1_000"', id="number-with-underscores"),
        pytest.param("0x1F", '"0x1F"', id="hexadecimal"),
        pytest.param("1.5e3", '"1.5e3"', id="float"),
        pytest.param("1:30", '"1:30"', id="to-the-base-of-60"),
        pytest.param("2026-01-01T00:00:00Z", '"2026-01-01T00:00:00Z"', id="time"),
        pytest.param("2026-01-01", '"2026-01-01"', id="day"),
        pytest.param("yes", '"yes"', id="old-truth"),
        pytest.param("n", '"n"', id="old-falsehood"),
        pytest.param("", '""', id="empty"),
        pytest.param("10.0.0.1", "10.0.0.1", id="address"),
        pytest.param("v1", "v1", id="version"),
        pytest.param("a: b", "'a: b'", id="colon"),
        pytest.param("*", "'*'", id="star"),
    ],
)
def test_text(text: str, expected: str) -> None:
    assert to_yaml({"a": text}).decode() == f"a: {expected}\n"


def test_lines_stand_below() -> None:
    assert to_yaml({"a": "one\ntwo\n", "b": "one\ntwo"}).decode() == "a: |\n  one\n  two\nb: |-\n  one\n  two\n"


def test_members_are_in_order_and_lists_are_not_indented() -> None:
    doc = {"kind": "K", "apiVersion": "v1", "spec": {"b": [{"y": 1, "x": None}], "a": True}}
    assert to_yaml(doc).decode() == ('apiVersion: v1\nkind: K\nspec:\n  a: true\n  b:\n  - x: null\n    "y": 1\n')


def test_numbers_in_names_count() -> None:
    assert sorted(["a10", "a9", "a-1", "b", ".", "f:b", "f:a"], key=member_order) == [
        ".", "a-1", "a9", "a10", "b", "f:a", "f:b",
    ]  # fmt: skip


_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(value=_JSON)
def test_what_is_written_is_read(value: Any) -> None:
    try:
        read = yaml.safe_load(to_yaml(value))
    except yaml.YAMLError:
        return  # characters that YAML does not have
    assert read == value


@given(text=st.text(alphabet="0123456789+-._:eExXbBoOTtZz aAfF~nyNY"))
def test_text_stays_text(text: str) -> None:
    assert yaml.safe_load(to_yaml([text])) == [text], quoting(text)
