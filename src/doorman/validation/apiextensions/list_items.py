"""Items of lists that are sets or maps: which are the same, and that none is there twice."""

from collections import Counter
from collections.abc import Callable
from typing import Final

from doorman.api.machinery.structural_schema import Structural
from doorman.base.errors import FieldError, duplicate, invalid
from doorman.base.go_format import go_json
from doorman.base.json_types import Document, Json

HEAD: Final = ("apiVersion", "kind", "metadata")


def list_errors(doc: Document, schema: Structural) -> list[FieldError]:
    """Items that are there twice, in lists that are sets or maps."""
    errors: list[FieldError] = []
    _check_lists({name: value for name, value in doc.items() if name not in HEAD}, schema.source, "", errors)
    return errors


def key_text(item: Json, source: Document) -> str:
    return go_json(key_of(item, source))


def key_of(item: Json, source: Document) -> Json:
    names = source.get("x-kubernetes-list-map-keys", ())
    return {name: item[name] for name in names if name in item} if isinstance(item, dict) else item


def _check_lists(value: Json, source: Document, path: str, errors: list[FieldError]) -> None:
    if isinstance(value, list):
        _check_list_type(value, source, path, errors)
        items = source.get("items")
        for index, item in enumerate(value if isinstance(items, dict) else ()):
            _check_lists(item, items or {}, f"{path}[{index}]", errors)
    elif isinstance(value, dict):
        properties, additional = source.get("properties") or {}, source.get("additionalProperties")
        for name, member in value.items():
            known = properties.get(name, additional)
            if isinstance(known, dict):
                _check_lists(member, known, joined(path, name), errors)


def _check_list_type(value: list[Json], source: Document, path: str, errors: list[FieldError]) -> None:
    match source.get("x-kubernetes-list-type"):
        case "set":
            errors += [duplicate(f"{path}[{i}]", item) for i, item in repeated(value, lambda item: item)]
        case "map":
            strange = [i for i, item in enumerate(value) if item is not None and not isinstance(item, dict)]
            if strange:  # what comes after it is not looked at
                text = "must be an object for an array of list-type map"
                errors.append(invalid(f"{path}[{strange[0]}]", value[strange[0]], text))
            else:
                found = repeated(value, lambda item: key_of(item, source))
                errors += [duplicate(f"{path}[{i}]", key) for i, key in found]


def repeated(value: list[Json], key: Callable[[Json], Json]) -> list[tuple[int, Json]]:
    """Where something is there for the second time; further times are not told."""
    seen: Counter[str] = Counter()
    found = []
    for index, item in enumerate(value):
        text = go_json(key(item))
        seen[text] += 1
        if seen[text] == 2:
            found.append((index, key(item)))
    return found


def joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
