"""How results are printed: kubectl's tables and lines."""

import sys
from collections.abc import Sequence
from typing import Any

from doorman.cli.objects.whole_objects import as_json, as_yaml, without_managers

GAP = 3
EVENT_WIDTH = len("MODIFIED")
CELL_WIDTH_MIN = 6
"""Of kubectl's tables, with the gap."""


def print_object(doc: dict[str, Any], output: str, *, qualified: str, verb: str = "") -> None:
    """One object: as JSON or YAML, by name, or `kind/name verb`."""
    name = f"{qualified}/{doc['metadata']['name']}"
    if output == "json":
        print(as_json(without_managers(doc)))
    elif output == "yaml":
        print(as_yaml(without_managers(doc)), end="")
    elif output == "name" or not verb:
        print(name)
    else:
        print(f"{name} {verb}")


def print_table(
    table: dict[str, Any],
    *,
    wide: bool,
    with_namespace: bool,
    with_header: bool = True,
    with_labels: bool = False,
    label_columns: Sequence[str] = (),
    kind: str = "",
    event: str = "",
) -> None:
    """A server's Table as kubectl shows it: names in capitals, cells in columns three apart.

    `event`, what became of them, stands before each row, `kind` before each name, where tables of several kinds are
    shown; `label_columns` get a column each.
    """
    definitions = table.get("columnDefinitions") or []
    shown = [i for i, column in enumerate(definitions) if wide or not column.get("priority")]
    rows = []
    if with_header:
        rows.append([definitions[i]["name"].upper() for i in shown])
    found = table.get("rows") or []
    rows += [[_text(row["cells"][i]) for i in shown] for row in found]
    if kind:
        for row in rows[1 if with_header else 0 :]:
            row[0] = f"{kind}/{row[0]}"
    for label in label_columns:
        cells = [_labels_of(row).get(label, "") for row in found]
        last = [label.rpartition("/")[2].upper(), *cells] if with_header else cells
        rows = [[*row, text] for row, text in zip(rows, last, strict=True)]
    if with_labels:
        labels = [_labels(row) for row in found]
        last = ["LABELS", *labels] if with_header else labels
        rows = [[*row, text] for row, text in zip(rows, last, strict=True)]
    if with_namespace:
        spaces = [row["object"]["metadata"].get("namespace", "") for row in table.get("rows") or []]
        first = ["NAMESPACE", *spaces] if with_header else spaces
        rows = [[space, *row] for space, row in zip(first, rows, strict=True)]
    if event:
        events = [event.ljust(EVENT_WIDTH)] * len(found)
        rows = [[text, *row] for text, row in zip(["EVENT", *events] if with_header else events, rows, strict=True)]
    print_columns(rows, width_min=CELL_WIDTH_MIN)


def print_columns(rows: Sequence[Sequence[str]], *, width_min: int = 0) -> None:
    """`width_min` is that of a column with the gap behind it; the last one has none."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    for row in rows:
        cells = [cell.ljust(max(width + GAP, width_min)) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        sys.stdout.write("".join(cells) + row[-1] + "\n")
    sys.stdout.flush()


def _labels(row: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(_labels_of(row).items())) or "<none>"


def _labels_of(row: dict[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = (row["object"].get("metadata") or {}).get("labels") or {}
    return labels


def _text(cell: Any) -> str:  # a JSON scalar
    if cell is None:
        return "<none>"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell)
