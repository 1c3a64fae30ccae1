"""Columns of custom kinds: additionalPrinterColumns, read by JSON paths."""

import re
from functools import lru_cache
from typing import Any, Final

import msgspec

from doorman.api.kinds import PrinterColumn
from doorman.base.clock import Instant
from doorman.base.durations import human_span
from doorman.base.instants import from_time
from doorman.base.json_types import Document, Json
from doorman.server.tables.column import Cell, CellOf, TableColumn, age_column, name_column

_STEP: Final = re.compile(
    r"""
    \.(?P<name>(?:\\.|[^.\[\]\\])+)            # .name, dots in it escaped
  | \[(?P<index>-?\d+)\]                       # [0]
  | \[(?P<all>\*)\] | \.(?P<star>\*)           # [*]
  | \[(?P<quoted>'[^']*'|"[^"]*")\]            # ['name']
  | \[\?\(@(?P<path>[^=!<>)]+?)\s*(?P<sign>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|[^)]+?)\s*\)\]
    """,
    re.VERBOSE,
)


class PathError(ValueError):
    """No JSON path, or one that goes beyond what columns may use."""


@lru_cache(maxsize=1024)
def columns_of(columns: tuple[PrinterColumn, ...]) -> tuple[TableColumn, ...]:
    """The name first; the age when nothing else is asked for."""
    if not columns:
        return (name_column(), age_column())
    return (name_column(), *(_column(one) for one in columns))


def _column(one: PrinterColumn) -> TableColumn:
    return TableColumn(one.name, _reader(one), one.type, one.format, one.is_wide, one.description)


def _reader(one: PrinterColumn) -> CellOf:
    try:
        steps = parse_path(one.path)
    except PathError:
        return lambda _doc, _now: None

    def read(doc: Document, now: Instant) -> Cell:
        found = find(doc, steps)
        return cell_of(one.type, found[0], now) if found else None

    return read


def cell_of(type_: str, value: Json, now: Instant) -> Cell:
    """A value as a cell of the column's type; None for what has another type."""
    match type_:
        case "integer":
            return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return _age(value, now)
    return _text(value)


def _age(value: Json, now: Instant) -> Cell:
    if not isinstance(value, str):
        return "<invalid>"
    try:
        return human_span(now - from_time(value))
    except ValueError:
        return "<invalid>"


def _text(value: Json) -> Cell:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else msgspec.json.encode(value).decode()


class _Filter(msgspec.Struct, frozen=True):
    steps: tuple[Any, ...]
    value: Json
    is_equal: bool


PathStep = tuple[str, Any]
"""What a path goes along: ("name", member), ("index", number), ("all", None) or ("filter", _Filter)."""


@lru_cache(maxsize=1024)
def parse_path(text: str) -> tuple[PathStep, ...]:
    r"""
    >>> parse_path(".spec.ports[0].name")
    (('name', 'spec'), ('name', 'ports'), ('index', 0), ('name', 'name'))
    >>> parse_path(".metadata.labels.example\\.com/a")[2]
    ('name', 'example.com/a')
    """
    path = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps: list[PathStep] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise PathError(text)
        at = found.end()
        if found["name"] is not None:
            steps.append(("name", re.sub(r"\\(.)", r"\1", found["name"])))
        elif found["index"] is not None:
            steps.append(("index", int(found["index"])))
        elif found["quoted"] is not None:
            steps.append(("name", found["quoted"][1:-1]))
        elif found["path"] is not None:
            wanted = _Filter(parse_path(found["path"]), _literal(found["value"]), found["sign"] == "==")
            steps.append(("filter", wanted))
        else:
            steps.append(("all", None))
    return tuple(steps)


def _literal(text: str) -> Json:
    if text[0] in "\"'":
        return text[1:-1]
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def find(value: Json, steps: tuple[PathStep, ...]) -> list[Json]:
    """Every value a path leads to."""
    found = [value]
    for kind, argument in steps:
        found = [inner for one in found for inner in _follow(one, kind, argument)]
    return found


def _follow(value: Json, kind: str, argument: Any) -> list[Json]:
    if kind == "name":
        return [value[argument]] if isinstance(value, dict) and argument in value else []
    if kind == "all":
        return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if not isinstance(value, list):
        return []
    if kind == "index":
        return [value[argument]] if -len(value) <= argument < len(value) else []
    return [one for one in value if (argument.value in find(one, argument.steps)) is argument.is_equal]
