"""Any object, member by member: what is told of kinds that have no shape of their own here."""

import re
from typing import Any, Final

from doorman.cli.describe.description import Description, member

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^A-Za-z\d]+")
_ACRONYMS: Final = frozenset({"API", "URL", "UID", "OSB", "GUID"})
_IN_HEAD: Final = frozenset({"apiVersion", "kind"})
_METADATA_IN_HEAD: Final = frozenset({"managedFields", "name", "namespace", "labels", "annotations"})


def describe_object(out: Description, doc: dict[str, Any]) -> None:
    describe_head(out, doc)
    out.pair("API Version", doc["apiVersion"])
    out.pair("Kind", doc["kind"])
    metadata = {name: value for name, value in doc["metadata"].items() if name not in _METADATA_IN_HEAD}
    shown = {name: value for name, value in doc.items() if name not in _IN_HEAD}
    _describe_members(out, {**shown, "metadata": metadata}, 0)


def describe_head(out: Description, doc: dict[str, Any]) -> None:
    out.pair("Name", doc["metadata"]["name"])
    out.pair("Namespace", doc["metadata"].get("namespace", ""))
    out.labels("Labels", member(doc, "metadata", "labels"))
    out.annotations(member(doc, "metadata", "annotations"))


def label(name: str) -> str:
    """A member's name as people read it.

    >>> [label(name) for name in ("creationTimestamp", "uid", "apiURL", "HTTPServer", "snake_case")]
    ['Creation Timestamp', 'UID', 'API URL', 'HTTP Server', 'snake_case']
    """
    if "_" in name:
        return name
    words = _WORD.findall(name)
    return " ".join(word.upper() if word.upper() in _ACRONYMS else word[:1].upper() + word[1:] for word in words)


def _describe_members(out: Description, doc: dict[str, Any], level: int) -> None:
    for name in sorted(doc):
        value = doc[name]
        if isinstance(value, dict):
            out.line(f"{label(name)}:", level)
            _describe_members(out, value, level + 1)
        elif isinstance(value, list):
            out.line(f"{label(name)}:", level)
            for item in value:
                if isinstance(item, dict):
                    _describe_members(out, item, level + 1)
                else:
                    out.line(_text(item), level + 1)
        else:
            out.pair(label(name), _text(value), level)


def _text(value: Any) -> str:  # a JSON value, as Go prints it
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{' '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_text(value[name])}' for name in sorted(value))}]"
    return str(value)
