"""`# doorman: ignore DM004`: findings that somebody has looked at.

On the line of a finding, or on a line of its own above it, a comment is for that line. Before the first member of a
document it is for the whole document. Without ids it is for every rule. Objects of a cluster, which have no comments,
have the annotation `doorman.dev/lint-ignore` instead.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

ANNOTATION: Final = "doorman.dev/lint-ignore"
EVERY: Final = "*"
_COMMENT: Final = re.compile(r"(?:^|\s)#\s*doorman:\s*ignore\b[\s:]*(?P<ids>[A-Za-z0-9,\s]*)")
_ID: Final = re.compile(r"[A-Z]{2}\d{3}")


class Ignores(msgspec.Struct, frozen=True, kw_only=True):
    """Of one document: ids by line, and ids for all of it."""

    lines: Mapping[int, frozenset[str]] = {}
    document: frozenset[str] = frozenset()

    def covers(self, rule: str, line: int) -> bool:
        return bool({rule, EVERY} & (self.document | self.lines.get(line, frozenset())))


def comment_ids(line: str) -> frozenset[str] | None:
    """The ids that a line's comment names; None without such a comment.

    >>> sorted(comment_ids("  - operator: Exists  # doorman: ignore DM004, DM007 it is the log shipper"))
    ['DM004', 'DM007']
    >>> comment_ids("# doorman: ignore"), comment_ids("# doorman is nice")
    (frozenset({'*'}), None)
    """
    found = _COMMENT.search(line)
    if found is None:
        return None
    return frozenset(_ID.findall(found["ids"])) or frozenset({EVERY})


def ignores_of(lines: list[str], first_line: int, last_line: int, value: Any) -> Ignores:  # JSON
    """`first_line` is that of the document's first member; lines are counted from 1."""
    by_line: dict[int, frozenset[str]] = {}
    document = _annotated(value)
    for number in range(first_line - 1, 0, -1):
        text = lines[number - 1].strip()
        if text and not text.startswith("#"):
            break  # the end of the document before
        document |= comment_ids(text) or frozenset()
    waiting: frozenset[str] = frozenset()
    for number in range(first_line, min(last_line, len(lines)) + 1):
        text = lines[number - 1].strip()
        ids = comment_ids(text)
        if text.startswith("#"):
            waiting |= ids or frozenset()
            continue
        if ids or waiting:
            by_line[number] = (ids or frozenset()) | waiting
        if text:
            waiting = frozenset()
    return Ignores(lines=by_line, document=document)


def annotation_ignores(value: Any) -> Ignores:  # JSON
    return Ignores(document=_annotated(value))


def _annotated(value: Any) -> frozenset[str]:  # JSON
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    text = annotations.get(ANNOTATION) if isinstance(annotations, Mapping) else None
    if not isinstance(text, str):
        return frozenset()
    return frozenset(_ID.findall(text)) or (frozenset({EVERY}) if text.strip() in ("", EVERY, "true") else frozenset())
