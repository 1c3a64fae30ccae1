"""What can be said against an expression before it runs: names nobody knows, operators on types they are not for.

Documents are of type `dyn` unless a schema is given: then fields that it does not have are faults too.
"""

from collections.abc import Mapping
from typing import Final

from doorman.semantics.cel.cel_errors import CompileError, all_of
from doorman.semantics.cel.library.functions import FUNCTIONS, METHODS, TYPE_NAMES
from doorman.semantics.cel.library.strings import pattern_fault
from doorman.semantics.cel.program import namespaced
from doorman.semantics.cel.property_names import unescaped_or_none
from doorman.semantics.cel.syntax import syntax_tree as tree
from doorman.semantics.cel.typing import static_types as types
from doorman.semantics.cel.typing.static_types import ANY, BIND, BOOL, DYN, INT, STRING, FieldTypes, Type

_NUMBERS: Final = ("int", "uint", "double")
_TIME: Final = "google.protobuf.Timestamp"
_DURATION: Final = "google.protobuf.Duration"
_LOGICAL: Final = ("_&&_", "_||_")
_ORDERED: Final = (*_NUMBERS, "bool", "string", "bytes", _TIME, _DURATION)
_SUMMED: Final = (*_NUMBERS, _DURATION)
_PATTERNS: Final = ("matches", "find", "findAll")
_ONE_ELEMENT: Final = ("sum", "min", "max")
_SOME_ELEMENTS: Final = ("slice", "sort", "distinct", "reverse")
_AUTHORIZER: Final = "kubernetes.authorization.Authorizer"

_SUMS: Final = {
    (_TIME, _DURATION): _TIME,
    (_DURATION, _TIME): _TIME,
    (_DURATION, _DURATION): _DURATION,
    ("string", "string"): "string",
    ("bytes", "bytes"): "bytes",
    ("list", "list"): "list",
}
_DIFFERENCES: Final = {
    (_TIME, _TIME): _DURATION,
    (_TIME, _DURATION): _TIME,
    (_DURATION, _DURATION): _DURATION,
}


def check(text: str, node: tree.Expr, names: Mapping[str, Type], fields: FieldTypes | None = None) -> Type:
    """The type of the value. Raises CompileError."""
    return _Checker(text, fields).check(node, dict(names))


def types_of(
    text: str, node: tree.Expr, names: Mapping[str, Type], fields: FieldTypes | None = None
) -> dict[int, Type]:
    """The types of all nodes of a tree, by `id`. Raises CompileError."""
    checker = _Checker(text, fields)
    checker.check(node, dict(names))
    return checker.found


def _no_fields(_schema: str, _field: str) -> Type | None:
    return DYN


def _fits_elements(name: str, target: Type) -> bool:
    """Sums are made of numbers, and only what has an order has a smallest one."""
    wanted = _SUMMED if name == "sum" else _ORDERED if name in ("min", "max", "isSorted") else ()
    return not wanted or target.name != "list" or target.of is None or target.of.name in (*wanted, "dyn")


def _of_list(name: str, target: Type) -> Type | None:
    """Methods whose result is made of the elements of a list; None: its type is not known from them."""
    if target.name != "list":
        return None
    return target.of if name in _ONE_ELEMENT else target if name in _SOME_ELEMENTS else None


class _Checker:
    def __init__(self, text: str, fields: FieldTypes | None) -> None:
        self._text = text
        self._fields = fields if fields is not None else _no_fields
        self.found: dict[int, Type] = {}
        self._faults: list[CompileError] = []

    def check(self, node: tree.Expr, names: dict[str, Type]) -> Type:
        """Raises all that is wrong, up to what made it impossible to go on."""
        try:
            found = self.type_of(node, names)
        except CompileError as error:
            raise all_of([*self._faults, error]) from error
        if self._faults:
            raise all_of(self._faults)
        return found

    def type_of(self, node: tree.Expr, names: dict[str, Type]) -> Type:
        found = self.found[id(node)] = self._type_of(node, names)
        return found

    def _type_of(self, node: tree.Expr, names: dict[str, Type]) -> Type:
        match node:
            case tree.Literal():
                return Type({"float": "double"}.get(node.kind, node.kind))
            case tree.Ident():
                return self._ident(node, names)
            case tree.Select():
                operand = self.type_of(node.operand, names)
                found = self._field(operand, node.field, node.at)
                return Type("optional_type") if node.is_optional or operand.name == "optional_type" else found
            case tree.Has():
                self._field(self.type_of(node.operand, names), node.field, node.at)
                return BOOL
            case tree.Call():
                return self._call(node, names)
            case tree.Elements():
                found_types = [self.type_of(item, names) for item in node.items]
                same = found_types and not node.optional and all(one == found_types[0] for one in found_types)
                return Type("list", of=found_types[0]) if same else Type("list")
            case tree.Entries():
                for key, value in node.items:
                    self.type_of(key, names)
                    self.type_of(value, names)
                return Type("map")
            case tree.Message():
                return self._message(node, names)
            case tree.Fold():
                return self._fold(node, names)

    def _fault(self, at: int, why: str) -> CompileError:
        return CompileError(self._text, at, why)

    def _tell(self, fault: CompileError) -> Type:
        """Nothing more is said of what is made of it."""
        self._faults.append(fault)
        return DYN

    def _ident(self, node: tree.Ident, names: dict[str, Type]) -> Type:
        if node.name in names:
            return names[node.name]
        if node.name in TYPE_NAMES:
            return Type("type")
        return self._tell(self._fault(node.at, f"undeclared reference to '{node.name}' (in container '')"))

    def _field(self, operand: Type, field: str, at: int) -> Type:
        if operand.schema:
            found = self._fields(operand.schema, field)
            if found is None and (plain := unescaped_or_none(field)) is not None:
                found = self._fields(operand.schema, plain)
            if found is None:
                return self._tell(self._fault(at, f"undefined field '{field}'"))
            return found
        if operand.name == _AUTHORIZER and field == "requestResource":
            return Type("kubernetes.authorization.ResourceCheck")
        if operand.name not in ("dyn", "map", "optional_type"):
            return self._tell(self._fault(at, f"type '{operand}' does not support field selection"))
        return operand.of or DYN if operand.name == "map" else DYN

    def _call(self, node: tree.Call, names: dict[str, Type]) -> Type:
        if node.target is not None and node.name in ("optMap", "optFlatMap") and len(node.arguments) == 2:
            return self._opt_map(node, names)
        full = namespaced(node) if isinstance(node.target, tree.Ident) and node.target.name not in names else ""
        arguments = [self.type_of(argument, names) for argument in node.arguments]
        if node.target is None:
            if node.name.startswith(("_", "@", "!", "-")):
                return self._operator(node, arguments)
            return self._overloaded(node, node.name, FUNCTIONS, arguments)
        if full:
            return self._overloaded(node, full, FUNCTIONS, arguments)
        target = self.type_of(node.target, names)
        if node.name in ("or", "orValue") and len(arguments) == 1:
            if target.name not in ("dyn", "optional_type"):
                return self._tell(self._no_overload(node.at, node.name, [target, *arguments], is_method=True))
            return Type("optional_type") if node.name == "or" else DYN
        return self._overloaded(node, node.name, METHODS, [target, *arguments])

    def _overloaded(
        self,
        node: tree.Call,
        name: str,
        table: Mapping[str, tuple[object, ...]],
        arguments: list[Type],
    ) -> Type:
        overloads = (METHODS if table is METHODS else FUNCTIONS).get(name)
        is_method = table is METHODS
        if overloads is None:
            return self._tell(self._fault(node.at, f"undeclared reference to '{name}' (in container '')"))
        fitting = [one for one in overloads if one.takes([argument.name for argument in arguments])]
        if not fitting or (is_method and not _fits_elements(name, arguments[0])):
            return self._tell(self._no_overload(node.at, name, arguments, is_method=is_method))
        if name in _PATTERNS:
            self._pattern(node)
        if is_method and arguments[0].of is not None and (generic := _of_list(name, arguments[0])) is not None:
            return generic
        results = {one.result for one in fitting}
        return types.plain(fitting[0].result) if len(results) == 1 else DYN

    def _pattern(self, node: tree.Call) -> None:
        """A pattern that stands there in so many words is looked at now."""
        pattern = node.arguments[0] if node.target is not None else node.arguments[1]
        if isinstance(pattern, tree.Literal) and isinstance(pattern.value, str):
            fault = pattern_fault(pattern.value)
            if fault:
                raise self._fault(pattern.at, "invalid matches argument" if node.name == "matches" else fault)

    def _no_overload(self, at: int, name: str, arguments: list[Type], *, is_method: bool = False) -> CompileError:
        shown = [str(argument) for argument in arguments]
        applied = f"{shown[0]}.({', '.join(shown[1:])})" if is_method else f"({', '.join(shown)})"
        return self._fault(at, f"found no matching overload for '{name}' applied to '{applied}'")

    def _operator(self, node: tree.Call, arguments: list[Type]) -> Type:
        found = _operated(node.name, arguments)
        if found is None:
            return self._tell(self._no_overload(node.at, node.name, arguments))
        return found

    def _opt_map(self, node: tree.Call, names: dict[str, Type]) -> Type:
        assert node.target is not None, "a method has a target"
        name, body = node.arguments
        if not isinstance(name, tree.Ident):
            raise self._fault(name.at, f"{node.name}() variable name must be a simple identifier")
        self.type_of(node.target, names)
        self.type_of(body, {**names, name.name: DYN})
        return Type("optional_type")

    def _message(self, node: tree.Message, names: dict[str, Type]) -> Type:
        root = node.name.partition(".")[0]
        if root not in names or names[root].name != "type":
            raise self._fault(node.at, f"undeclared reference to '{node.name}' (in container '')")
        for _, value in node.fields:
            self.type_of(value, names)
        return Type(node.name)

    def _fold(self, node: tree.Fold, names: dict[str, Type]) -> Type:
        if node.macro == "bind":
            if BIND not in names:
                raise self._fault(node.at, "undeclared reference to 'cel' (in container '')")
            return self.type_of(node.parts[0], {**names, node.names[0]: self.type_of(node.over, names)})
        over = self.type_of(node.over, names)
        if over.name not in ("list", "map", "dyn") or over == ANY:
            why = f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)"
            raise self._fault(node.over.at, why)
        inner = over.of or DYN
        bound: tuple[Type, ...]
        if len(node.names) == 1:
            bound = ({"list": inner, "map": STRING if over.of else DYN}.get(over.name, DYN),)
        else:
            bound = ({"list": INT, "map": STRING if over.of else DYN}.get(over.name, DYN), inner)
        scope = {**names, **dict(zip(node.names, bound, strict=True))}
        *conditions, last = (self.type_of(part, scope) for part in node.parts)
        for part, condition in zip(node.parts, conditions, strict=False):
            self._must_be_bool(part, condition)
        match node.macro:
            case "map" | "transformList":
                return Type("list", of=last)
            case "transformMap" | "transformMapEntry":
                return Type("map")
        self._must_be_bool(node.parts[-1], last)
        return (over if over.name == "list" else Type("list")) if node.macro == "filter" else BOOL

    def _must_be_bool(self, node: tree.Expr, found: Type) -> None:
        if found.name not in ("bool", "dyn"):
            self._tell(self._fault(node.at, f"expected type 'bool' but found '{found}'"))


def _operated(name: str, arguments: list[Type]) -> Type | None:
    """The type of an operator's result, None when it is not for these."""
    kinds = [argument.name for argument in arguments]
    if name in _LOGICAL or name == "!_":
        return BOOL if all(kind in ("bool", "dyn") for kind in kinds) else None
    if name == "-_":
        return arguments[0] if kinds[0] in ("int", "double", _DURATION, "dyn") else None
    if name == "_?_:_":
        if kinds[0] not in ("bool", "dyn"):
            return None
        return arguments[1] if arguments[1] == arguments[2] else DYN
    one, other = kinds
    if name in ("_==_", "_!=_"):
        return BOOL if "dyn" in kinds or _comparable(one, other) else None
    if name == "@in":
        return BOOL if other in ("list", "map", "dyn") else None
    if name in ("_[_]", "_[?_]"):
        if one not in ("list", "map", "dyn", "optional_type"):
            return None
        found = (arguments[0].of or DYN) if one in ("list", "map") else DYN
        return Type("optional_type") if name == "_[?_]" or one == "optional_type" else found
    if name in ("_<_", "_<=_", "_>_", "_>=_"):
        fits = "dyn" in kinds or (_comparable(one, other) and one in _ORDERED)
        return BOOL if fits and all(kind in (*_ORDERED, "dyn") for kind in kinds) else None
    return _arithmetic(name, one, other)


def _comparable(one: str, other: str) -> bool:
    return one == other or "null_type" in (one, other) or (one in _NUMBERS and other in _NUMBERS)


def _arithmetic(name: str, one: str, other: str) -> Type | None:
    if one == other and one in _NUMBERS:
        return Type(one) if name != "_%_" or one != "double" else None
    rows = {"_+_": _SUMS, "_-_": _DIFFERENCES}.get(name, {})
    if (one, other) in rows:
        return Type(rows[one, other])
    takers = {*_NUMBERS, *(kind for pair in rows for kind in pair), "dyn"}
    if "dyn" in (one, other) and one in takers and other in takers:
        return DYN
    return None
