"""Objects as JSON and YAML, to the byte as kubectl prints them.

Keys are sorted and who manages which field is left out. Texts that YAML would read as something else stand in double
quotes, others bare or, where that cannot be, in single ones; texts of several lines stand as they are.
"""

import json
from typing import Any, Final

import yaml

_ESCAPED: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
_TEXT: Final = "tag:yaml.org,2002:str"
_LINE_WIDTH_MAX: Final = 1 << 20


def without_managers(doc: dict[str, Any]) -> dict[str, Any]:
    """As kubectl shows it without `--show-managed-fields`."""
    shown = {**doc}
    if isinstance(doc.get("metadata"), dict):
        shown["metadata"] = {name: value for name, value in doc["metadata"].items() if name != "managedFields"}
    if isinstance(doc.get("items"), list):
        shown["items"] = [without_managers(item) for item in doc["items"]]
    return shown


def as_json(doc: dict[str, Any] | list[Any]) -> str:
    """
    >>> print(as_json({"b": "<1>", "a": []}))
    {
        "a": [],
        "b": "\\u003c1\\u003e"
    }
    """
    text = json.dumps(doc, indent=4, sort_keys=True, ensure_ascii=False)
    for sign, escaped in _ESCAPED.items():  # signs that JSON has in texts only
        text = text.replace(sign, escaped)
    return text


def as_yaml(doc: dict[str, Any]) -> str:
    """
    >>> print(as_yaml({"a": "true", "b": "2026-01-01", "c": "x: y", "d": "plain", "e": ""}), end="")
    a: "true"
    b: "2026-01-01"
    c: 'x: y'
    d: plain
    e: ""
    """
    return yaml.dump(doc, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=_LINE_WIDTH_MAX)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  PyYAML's signature; nothing is shared in JSON
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None
    if "\n" in value:
        style = "|"
    elif dumper.resolve(yaml.ScalarNode, value, (True, False)) != _TEXT:  # type: ignore[no-untyped-call]  # PyYAML's
        style = '"'
    return dumper.represent_scalar(_TEXT, value, style=style)


_Dumper.add_representer(str, _text)
