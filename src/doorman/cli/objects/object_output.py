"""How objects are printed that are no table: JSON, YAML, names, templates, columns of one's own."""

from pathlib import Path
from typing import Any, Final

import click
import msgspec

from doorman.cli.error_output import fail
from doorman.cli.objects.jsonpath_template import TemplateError, render, text_of, values
from doorman.cli.objects.output import print_columns, print_object
from doorman.cli.objects.whole_objects import as_json, as_yaml, without_managers
from doorman.client.command_line.resource_lookup import ServedResource

_PLAIN: Final = ("", "wide", "name", "json", "yaml")
_FROM_FILE: Final = {"jsonpath-file": "jsonpath", "custom-columns-file": "custom-columns"}
_WITH_TEMPLATE: Final = ("jsonpath", "jsonpath-as-json", "custom-columns", *_FROM_FILE)
_MISSING: Final = {"custom-columns": "custom columns", "custom-columns-file": "custom columns"}
_NOT_HERE: Final = {
    "go-template": "jsonpath=… or custom-columns=… tell the same",
    "go-template-file": "jsonpath-file=… or custom-columns-file=… tell the same",
    "template": "jsonpath=… or custom-columns=… tell the same",
    "templatefile": "jsonpath-file=… or custom-columns-file=… tell the same",
    "kyaml": "yaml",
}
"""What kubectl can print and we cannot, with what to take instead."""

_NOTHING: Final = "<none>"


class OutputFormat(click.ParamType[str]):
    name = "format"

    def __init__(self, *allowed: str) -> None:
        """Without arguments: all of them."""
        self._allowed = allowed or (*_PLAIN[1:], *_WITH_TEMPLATE)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        kind, sign, template = value.partition("=")
        if kind in _WITH_TEMPLATE and kind in self._allowed and not (sign and template):
            what = "custom-columns" if kind in _MISSING else "template"
            fail(f"error: {what} format specified but no {_MISSING.get(kind, 'template')} given\nhint: -o {kind}=…")
        if kind in _NOT_HERE and "jsonpath" in self._allowed:
            fail(f"error: -o {kind} is not supported here\nhint: {_NOT_HERE[kind]}; kubectl has it")
        if kind in _FROM_FILE and kind in self._allowed:
            return f"{_FROM_FILE[kind]}={_template_of(kind, template)}"
        if value and (kind if kind in _WITH_TEMPLATE else value) not in self._allowed:
            known = ",".join(sorted(self._allowed))
            text = f'unable to match a printer suitable for the output format "{value}", allowed formats are: {known}'
            fail(f"error: {text}")
        return str(value)


def _template_of(kind: str, file: str) -> str:
    """Columns stand in two lines, names above paths."""
    try:
        text = Path(file).read_text()
    except OSError as error:
        fail(f"error: error reading --template {file}, open {file}: {(error.strerror or str(error)).lower()}")
    if kind == "jsonpath-file":
        return text
    names, paths = ([*map(str.split, text.splitlines()), [], []])[:2]
    if not names or len(names) != len(paths):
        fail(f"error: number of columns of headers and paths must match in {file}\nhint: a line of names, one of paths")
    return ",".join(f"{name}:{path}" for name, path in zip(names, paths, strict=True))


class PrintOptions(msgspec.Struct, frozen=True, kw_only=True):
    output: str = ""
    sort_by: str = ""
    no_headers: bool = False
    show_kind: bool = False
    show_labels: bool = False
    label_columns: tuple[str, ...] = ()
    show_managed_fields: bool = False

    @property
    def is_table(self) -> bool:
        return self.output in ("", "wide")


Found = list[tuple[ServedResource, dict[str, Any]]]
"""Documents with what they are of."""


def print_documents(found: Found, options: PrintOptions, *, is_one: bool) -> None:
    """`is_one`: one object was named, which is printed as such and not as a list."""
    if options.sort_by:
        found = [(resource, doc) for doc, resource in sorted_by(options.sort_by, [(d, r) for r, d in found])]
    kind, _, template = options.output.partition("=")
    docs = [doc if options.show_managed_fields else without_managers(doc) for _, doc in found]
    if kind == "custom-columns":
        _print_own_columns(docs, template, with_header=not options.no_headers)
        return
    if kind == "name":
        for resource, doc in found:
            print_object(doc, kind, qualified=resource.qualified)
        return
    if kind == "jsonpath-as-json":
        print(as_json(values(template, docs[0] if is_one and docs else _list(docs))))
    elif kind == "jsonpath":
        print(render(template, docs[0] if is_one and docs else _list(docs)), end="")
    elif is_one and docs:
        _print_whole(docs[0], kind)
    else:
        print_list(docs, kind)


def print_list(docs: list[dict[str, Any]], kind: str) -> None:
    """As JSON or YAML."""
    _print_whole(_list(docs), kind)


def _list(docs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": "v1", "items": docs, "kind": "List", "metadata": {"resourceVersion": ""}}


def _print_whole(doc: dict[str, Any], kind: str) -> None:
    print(as_json(doc) if kind == "json" else as_yaml(doc).rstrip("\n"))


def sorted_by(path: str, pairs: list[tuple[dict[str, Any], Any]]) -> list[tuple[dict[str, Any], Any]]:
    """Documents, with whatever belongs to each, in order of what a path leads to. What leads nowhere comes first."""

    def key(pair: tuple[dict[str, Any], Any]) -> tuple[int, float, str]:
        found = values(path, pair[0])
        if not found:
            return (0, 0.0, "")
        value = found[0]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return (1, float(value), "") if is_number else (2, 0.0, text_of(value))

    return sorted(pairs, key=key)


def _print_own_columns(docs: list[dict[str, Any]], spec: str, *, with_header: bool) -> None:
    columns = []
    for column in spec.split(","):
        name, sign, path = column.partition(":")
        if not sign:
            raise TemplateError(f"unexpected custom-columns spec: {column}, expected <header>:<json-path-expr>")
        columns.append((name, path))
    rows = [[name for name, _ in columns]] if with_header else []
    rows += [
        [(",".join(map(text_of, values(path, doc))) if path else "") or _NOTHING for _, path in columns] for doc in docs
    ]
    print_columns(rows)
