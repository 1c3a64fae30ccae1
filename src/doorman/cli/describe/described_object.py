"""Any object, member by member: what is told of kinds that have no shape of their own here."""

import re
from typing import Any, Final

from doorman.cli.describe.description import Description, Doc
from doorman.cli.describe.related_objects import RelatedObjects

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|-+")
_PLAIN: Final = re.compile(r"[A-Za-z-]+")
_PLURAL: Final = re.compile(r"([A-Z]{2,}) (?=[A-Z])")
_ACRONYMS: Final = frozenset({"API", "URL", "UID", "GUID"})
_IN_HEAD: Final = frozenset({"apiVersion", "kind"})
_METADATA_IN_HEAD: Final = frozenset({"managedFields", "name", "namespace", "labels", "annotations"})


def describe_object(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc)
    out.pair("API Version", doc["apiVersion"])
    out.pair("Kind", doc["kind"])
    metadata = {name: value for name, value in doc["metadata"].items() if name not in _METADATA_IN_HEAD}
    shown = {name: value for name, value in doc.items() if name not in _IN_HEAD}
    _describe_members(out, {**shown, "metadata": metadata}, 0)


def label(name: str) -> str:
    """A member's name as people read it; letters in a row that are all capitals stay with the word after them.

    >>> [label(name) for name in ("creationTimestamp", "uid", "apiURL", "podCIDRs", "snake_case", "ipv4")]
    ['Creation Timestamp', 'UID', 'API URL', 'Pod CIDRs', 'snake_case', 'ipv4']
    """
    if not _PLAIN.fullmatch(name):
        return name
    words = _PLURAL.sub(r"\1", " ".join(_WORD.findall(name))).split(" ")
    return " ".join(_titled(word) for word in words)


def _titled(word: str) -> str:
    if word.upper() in _ACRONYMS:
        return word.upper()
    return word[:1].upper() + word[1:] if word == word.lower() else word


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
