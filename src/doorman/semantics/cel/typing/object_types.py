"""The types of Kubernetes' own kinds in CEL, from the table of types."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.semantics.cel.typing.static_types import BOOL, DYN, INT, STRING, Type

_SCALARS: Final = {
    "string": STRING,
    "quantity": STRING,
    "bool": BOOL,
    "int32": INT,
    "int64": INT,
    "double": Type("double"),
    "bytes": STRING,
    "time": STRING,
    "microtime": STRING,
}


class ObjectTypes:
    def __init__(self, rows: Mapping[str, Any]) -> None:  # rows of the type table
        self._rows = rows

    def of(self, type_name: str) -> Type:
        return Type("map", schema=type_name)

    def fields(self, schema: str, field: str) -> Type | None:
        row = self._rows.get(schema)
        if row is None:
            return DYN
        found = row["fields"].get(field)
        if found is None:
            return None
        return _type_of(found["t"] if isinstance(found, dict) else found)


def _type_of(expression: Any) -> Type:  # a type expression of the table
    if isinstance(expression, list):
        kind, inner = expression
        return Type(kind, of=_type_of(inner))
    if expression.startswith("@"):
        return Type("map", schema=expression[1:])
    return _SCALARS.get(expression, DYN)
