"""What is known of an expression's value before it is evaluated."""

from collections.abc import Callable
from typing import Final

import msgspec

_SHOWN: Final = {
    "list": "list(dyn)",
    "map": "map(dyn, dyn)",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
}


class Type(msgspec.Struct, frozen=True):
    """A type by name. Lists and maps know what is in them (`of`), objects of a schema which one they are (`schema`)."""

    name: str
    of: "Type | None" = None
    schema: str = ""

    def __str__(self) -> str:
        if self.schema:
            return self.schema
        if self.name == "dyn":
            return "dyn" if self.of is None else "any"
        if self.of is not None:
            return f"list({self.of})" if self.name == "list" else f"map(string, {self.of})"
        return _SHOWN.get(self.name, self.name)


DYN: Final = Type("dyn")
ANY: Final = Type("dyn", of=Type("any"))
"""Known when it runs, like `dyn`, but nothing that a macro goes over."""
BOOL: Final = Type("bool")
STRING: Final = Type("string")
INT: Final = Type("int")

BIND: Final = "cel.bind"
"""Among the names of an environment: its expressions may use the macro of that name."""

FieldTypes = Callable[[str, str], Type | None]
"""From an object's schema and a field's name to the field's type; None when there is no such field."""


def plain(name: str) -> Type:
    """
    >>> str(plain("list")), str(Type("list", of=plain("int")))
    ('list(dyn)', 'list(int)')
    """
    return Type(name)
