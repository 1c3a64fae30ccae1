"""Printer columns: JSON paths and cells."""

from typing import Any

import pytest

from doorman.api.kinds import PrinterColumn
from doorman.base.instants import from_time
from doorman.server.tables.custom_columns import PathError, cell_of, columns_of, find, parse_path

NOW = from_time("2026-01-01T00:01:00Z")
DOC = {
    "metadata": {"name": "a", "annotations": {"x.io/y": "z"}},
    "spec": {"list": [{"n": "a", "v": 1}, {"n": "b", "v": 2}]},
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(".metadata.name", ["a"], id="members"),
        pytest.param(".spec.list[1].v", [2], id="index"),
        pytest.param(".spec.list[-1].v", [2], id="from-the-end"),
        pytest.param(".spec.list[*].v", [1, 2], id="all"),
        pytest.param('.spec.list[?(@.n=="b")].v', [2], id="filter"),
        pytest.param(".spec.list[?(@.v!=2)].n", ["a"], id="filter-not-number"),
        pytest.param(r".metadata.annotations.x\.io/y", ["z"], id="escaped-dot"),
        pytest.param(".metadata.annotations['x.io/y']", ["z"], id="quoted"),
        pytest.param(".spec.list[7].v", [], id="beyond"),
        pytest.param(".spec.none.deeper", [], id="absent"),
    ],
)
def test_path(path: str, expected: list[Any]) -> None:
    assert find(DOC, parse_path(path)) == expected


@pytest.mark.parametrize("path", ["spec", ".a[", ".a[?(x)]", "..a"])
def test_no_path(path: str) -> None:
    with pytest.raises(PathError):
        parse_path(path)


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        pytest.param("integer", 3.0, 3, id="integer"),
        pytest.param("integer", "3", None, id="no-integer"),
        pytest.param("boolean", True, True, id="boolean"),
        pytest.param("string", {"a": 1}, '{"a":1}', id="object-as-text"),
        pytest.param("string", False, "false", id="boolean-as-text"),
        pytest.param("date", "2026-01-01T00:00:00Z", "60s", id="date"),
        pytest.param("date", "soon", "<invalid>", id="no-date"),
    ],
)
def test_cell(type_: str, value: Any, expected: Any) -> None:
    assert cell_of(type_, value, NOW) == expected


def test_name_comes_first_and_age_when_there_is_nothing_else() -> None:
    assert [column.name for column in columns_of(())] == ["Name", "Age"]
    asked = PrinterColumn(name="Broken", type="string", path="no path")
    (_, broken) = columns_of((asked,))
    assert broken.cell(DOC, NOW) is None
