"""What is written of one object: lines, each some levels deep, with tabs between what stands in columns."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from doorman.api.well_known import LAST_APPLIED
from doorman.base.instants import from_time
from doorman.cli.describe.aligned_columns import aligned

_NOTHING: Final = "<none>"
_UNSET: Final = "<unset>"
_LEVEL: Final = "  "
_ANNOTATION_LENGTH_MAX: Final = 140


class Description:
    def __init__(self) -> None:
        self._lines: list[str] = []

    def line(self, text: str, level: int = 0) -> None:
        """A text of several lines is several lines, of which only the first is as deep as it should be."""
        self._lines += (_LEVEL * level + text).split("\n")

    def pair(self, name: str, value: object, level: int = 0) -> None:
        self.line(f"{name}:\t{value}", level)

    def labels(self, name: str, labels: Mapping[str, str] | None, level: int = 0) -> None:
        self.several(name, [f"{key}={value}" for key, value in sorted((labels or {}).items())], level)

    def several(self, name: str, values: list[str], level: int = 0) -> None:
        """Below each other, the first beside the name."""
        first, *others = values or [_NOTHING]
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


def date(text: str | None) -> str:
    """A moment as people read it, in their own time zone."""
    if not text:
        return _UNSET
    return datetime.fromtimestamp(from_time(text)).astimezone().strftime("%a, %d %b %Y %H:%M:%S %z")


def member(doc: Mapping[str, Any], *path: str) -> Any:  # any JSON value
    """What stands there, or None."""
    found: Any = doc
    for name in path:
        found = (found or {}).get(name)
    return found


def _shortened(line: str) -> str:
    length = _ANNOTATION_LENGTH_MAX - 2
    return line[:length] + "..." if len(line) > length else line
