"""What an expression is when it has been read: a tree.

It has few kinds of nodes: operators are calls by the names the language gives them (`_+_`, `_&&_`), so whoever walks it
deals with calls only. Macros (`has`, `all`, `map` …) are `Has` and `Fold`.
"""

import msgspec


class Literal(msgspec.Struct, frozen=True):
    at: int
    value: object
    kind: str


class Ident(msgspec.Struct, frozen=True):
    at: int
    name: str


class Select(msgspec.Struct, frozen=True):
    """`operand.field`, or `operand.?field`, which is an optional."""

    at: int
    operand: "Expr"
    field: str
    is_optional: bool = False


class Has(msgspec.Struct, frozen=True):
    at: int
    operand: "Expr"
    field: str


class Call(msgspec.Struct, frozen=True):
    """A function, or with a target a method. `_[_]` is indexing, `_?_:_` the conditional."""

    at: int
    name: str
    arguments: tuple["Expr", ...]
    target: "Expr | None" = None


class Elements(msgspec.Struct, frozen=True):
    """A list. Elements whose index is in `optional` are left out when they are empty optionals."""

    at: int
    items: tuple["Expr", ...]
    optional: frozenset[int] = frozenset()


class Entries(msgspec.Struct, frozen=True):
    at: int
    items: tuple[tuple["Expr", "Expr"], ...]
    optional: frozenset[int] = frozenset()


class Message(msgspec.Struct, frozen=True):
    """`Object.spec{field: value}`: how mutations write objects."""

    at: int
    name: str
    fields: tuple[tuple[str, "Expr"], ...]
    optional: frozenset[int] = frozenset()


class Fold(msgspec.Struct, frozen=True):
    """A macro over a list or a map. `names` are one or two variables; `parts` what is evaluated for each element."""

    at: int
    macro: str
    over: "Expr"
    names: tuple[str, ...]
    parts: tuple["Expr", ...]


Expr = Literal | Ident | Select | Has | Call | Elements | Entries | Message | Fold


def mentioned(node: Expr) -> set[str]:
    """Every bare name in a tree, those of macros included."""
    match node:
        case Literal():
            return set()
        case Ident():
            return {node.name}
        case Select() | Has():
            return mentioned(node.operand)
        case Call():
            below: tuple[Expr, ...] = (*node.arguments, *((node.target,) if node.target is not None else ()))
        case Elements():
            below = node.items
        case Entries():
            below = tuple(part for entry in node.items for part in entry)
        case Message():
            below = tuple(value for _, value in node.fields)
        case Fold():
            below = (node.over, *node.parts)
    found: set[str] = set()
    for one in below:
        found |= mentioned(one)
    return found
