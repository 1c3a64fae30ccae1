"""What is written of one object: lines, each some levels deep, with tabs between what stands in columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from doorman.api.machinery.label_selectors import format_selector
from doorman.api.views.meta import LabelSelector
from doorman.api.well_known import LAST_APPLIED
from doorman.base.instants import from_time
from doorman.cli.describe.aligned_columns import aligned

Doc = Mapping[str, Any]
"""An object, or a part of one, as JSON."""

NOTHING: Final = "<none>"
UNSET: Final = "<unset>"
NO_TIME: Final = "Mon, 01 Jan 0001 00:00:00 +0000"
"""What Go prints of a time that was never set."""

_LEVEL: Final = "  "
_ANNOTATION_LENGTH_MAX: Final = 140


class Line(msgspec.Struct, frozen=True):
    """`Title:  text`, of what stands at a path. Where nothing does, `absent` is told; None: no line at all."""

    title: str
    path: str
    text: Callable[[Any], object] = str
    absent: str | None = None
    level: int = 0


class Description:
    def __init__(self) -> None:
        self._lines: list[str] = []

    def line(self, text: str, level: int = 0) -> None:
        """A text of several lines is several lines, of which only the first is as deep as it should be."""
        self._lines += (_LEVEL * level + text).split("\n")

    def pair(self, name: str, value: object, level: int = 0) -> None:
        self.line(f"{name}:\t{value}", level)

    def lines(self, doc: Doc, lines: Iterable[Line]) -> None:
        for line in lines:
            found = member(doc, *line.path.split("."))
            if found is not None:
                self.pair(line.title, line.text(found), line.level)
            elif line.absent is not None:
                self.pair(line.title, line.absent, line.level)

    def head(self, doc: Doc, *, with_namespace: bool = True) -> None:
        """What most objects begin with."""
        metadata = doc["metadata"]
        self.pair("Name", metadata["name"])
        if with_namespace:
            self.pair("Namespace", metadata.get("namespace", ""))
        self.labels("Labels", metadata.get("labels"))
        self.annotations(metadata.get("annotations"))

    def table(self, header: Sequence[str], rows: Iterable[Sequence[object]], level: int = 1, gap: str = "") -> None:
        """Rows below a header; `gap` stands at the end of their cells."""
        self.line("\t".join(header), level)
        self.line("\t".join("-" * len(name) for name in header), level)
        for row in rows:
            self.line(f"{gap}\t".join(map(str, row)), level)

    def labels(self, name: str, labels: Mapping[str, str] | None, level: int = 0) -> None:
        self.several(name, [f"{key}={value}" for key, value in sorted((labels or {}).items())], level)

    def several(self, name: str, values: list[str], level: int = 0) -> None:
        """Below each other, the first beside the name."""
        first, *others = values or [NOTHING]
        self.pair(name, first, level)
        for value in others:
            self.line(f"\t{value}", level)

    def annotations(self, annotations: Mapping[str, str] | None, name: str = "Annotations") -> None:
        shown: list[str] = []
        for key, value in sorted((annotations or {}).items()):
            if key == LAST_APPLIED:
                continue
            value = value.removesuffix("\n")
            if "\n" not in value and len(key) + len(value) + 2 < _ANNOTATION_LENGTH_MAX:
                shown.append(f"{key}: {value}")
                continue
            shown.append(f"{key}:")
            shown += [f"  {_shortened(line)}" for line in value.split("\n")]
        self.several(name, shown)

    def text(self) -> str:
        return "".join(line + "\n" for line in aligned(self._lines))


def date(text: str | None, absent: str = UNSET) -> str:
    """A moment as people read it, in their own time zone."""
    if not text:
        return absent
    return datetime.fromtimestamp(from_time(text)).astimezone().strftime("%a, %d %b %Y %H:%M:%S %z")


def selector_text(selector: Doc | None) -> str:
    return format_selector(msgspec.convert(selector, LabelSelector | None))


def labels_text(labels: Mapping[str, str] | None) -> str:
    """On one line."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NOTHING


def truth(value: object) -> str:
    return "true" if value else "false"


def capital_truth(value: object) -> str:
    return "True" if value else "False"


def go_list(values: Sequence[object] | None) -> str:
    """As Go prints one: `[a b]`."""
    return f"[{' '.join(map(str, values or ()))}]"


def member(doc: Doc, *path: str) -> Any:  # any JSON value
    """What stands there, or None."""
    found: Any = doc
    for name in path:
        found = (found or {}).get(name)
    return found


def _shortened(line: str) -> str:
    length = _ANNOTATION_LENGTH_MAX - 2
    return line[:length] + "..." if len(line) > length else line
