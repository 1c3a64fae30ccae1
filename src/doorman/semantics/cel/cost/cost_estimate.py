"""What an expression can cost at most, before it has run: from its text and the declared sizes of what it is given.

The estimate is Kubernetes' own: about one unit for each step, a tenth of one for each character, and what is done for
each element times the elements there can be. A macro is counted as the loop it stands for.

>>> from doorman.semantics.cel.typing.static_types import STRING, Type
>>> names = {"self": Type("list", of=STRING)}
>>> sizes = {"self": Declared(most=10, item=Declared(most=4))}
>>> estimated_cost("self.all(one, one.startsWith('a'))", names, None, sizes).max
52
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from doorman.semantics.cel.cost.cost_functions import (
    LIST,
    MAP,
    MESSAGE,
    Estimate,
    Operand,
    call_estimate,
    comparison,
    joined,
)
from doorman.semantics.cel.cost.cost_ranges import NOTHING, ONE, UNKNOWN, Range, exactly, total
from doorman.semantics.cel.cost.declared_sizes import ITEMS, KEYS, VALUES, Declared
from doorman.semantics.cel.expression import tree_of
from doorman.semantics.cel.program import namespaced
from doorman.semantics.cel.syntax import syntax_tree as tree
from doorman.semantics.cel.typing.static_types import DYN, FieldTypes, Type

_SCALARS: Final = frozenset({"bool", "int", "uint", "double", "google.protobuf.Timestamp", "google.protobuf.Duration"})
_ORDERED: Final = ("_<_", "_<=_", "_>_", "_>=_")
_PLAIN_EQUALITY: Final = frozenset(
    {"kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR", "kubernetes.authorization.Authorizer"}
)
"""Types whose values are compared at once."""


class Inside(msgspec.Struct, frozen=True):
    """How large keys and values of a list or a map are, that an expression has made."""

    is_list: bool
    key: Range
    value: Range

    def either(self, other: "Inside") -> "Inside":
        return Inside(self.is_list, self.key.either(other.key), self.value.either(other.value))


class _Local(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a variable that a macro has brought in."""

    path: tuple[str, ...] = ()
    size: Range | None = None
    inside: Inside | None = None
    type: Type = DYN


def estimated_cost(
    text: str, names: Mapping[str, Type], fields: FieldTypes | None, sizes: Mapping[str, Declared]
) -> Range:
    """Of an expression that compiles. `sizes`: what is declared of its variables."""
    from doorman.semantics.cel.typing.type_checker import types_of

    node = tree_of(text)
    return _Estimator(types_of(text, node, names, fields), sizes).cost(node)


class _Estimator:
    def __init__(self, types: Mapping[int, Type], sizes: Mapping[str, Declared]) -> None:
        self._types = types
        self._declared = sizes
        self._paths: dict[int, tuple[str, ...]] = {}
        self._sizes: dict[int, Range] = {}
        self._inside: dict[int, Inside] = {}
        self._locals: dict[str, list[_Local]] = {}

    def cost(self, node: tree.Expr) -> Range:
        match node:
            case tree.Literal():
                return NOTHING
            case tree.Ident():
                local = self._local(node)
                self._paths[id(node)] = local.path if local is not None else (node.name,)
                return ONE
            case tree.Select():
                return self._select(node)
            case tree.Has():
                return self.cost(node.operand)
            case tree.Call():
                return self._call(node)
            case tree.Elements():
                return self._elements(node)
            case tree.Entries():
                return self._entries(node)
            case tree.Message():
                return total([self.cost(value) for _, value in node.fields]).plus(MESSAGE)
            case tree.Fold():
                return self._fold(node)

    def _select(self, node: tree.Select) -> Range:
        cost = self.cost(node.operand)
        if node.is_optional:
            return cost.plus(ONE)
        self._paths[id(node)] = (*self._path(node.operand), node.field)
        return cost.plus(ONE) if self._type(node.operand).name == "map" else cost

    def _elements(self, node: tree.Elements) -> Range:
        costs = [self.cost(item) for item in node.items]
        self._inside[id(node)] = Inside(True, ONE, self._largest(node.items))
        return total(costs).plus(LIST)

    def _entries(self, node: tree.Entries) -> Range:
        costs = [self.cost(part) for entry in node.items for part in entry]
        keys, values = [key for key, _ in node.items], [value for _, value in node.items]
        self._inside[id(node)] = Inside(False, self._largest(keys), self._largest(values))
        return total(costs).plus(MAP)

    def _largest(self, nodes: Sequence[tree.Expr]) -> Range:
        found: Range | None = None
        for node in nodes:
            size = self._bound(node)
            found = size if found is None else found.either(size)
        return found if found is not None else NOTHING

    # Calls

    def _call(self, node: tree.Call) -> Range:
        if node.target is not None and node.name in ("optMap", "optFlatMap") and len(node.arguments) == 2:
            return self._opt_map(node)
        if node.target is None and node.name in ("_&&_", "_||_"):
            costs = [self.cost(argument) for argument in node.arguments]
            return Range(costs[0].min, total(costs).max)
        if node.target is None and node.name == "_?_:_":
            return self._conditional(node)
        arguments = [self.cost(argument) for argument in node.arguments]
        if node.target is None and node.name == "dyn":
            self._copy(node, node.arguments[0])
            return arguments[0].plus(ONE)
        function = node.name
        is_method = node.target is not None
        if isinstance(node.target, tree.Ident) and self._local(node.target) is None and (full := namespaced(node)):
            function, is_method = full, False
        if is_method and node.target is not None:
            arguments.append(self.cost(node.target))
        estimate = self._estimate(node, function, is_method=is_method)
        if estimate.result is not None:
            self._sizes[id(node)] = estimate.result
        return total(arguments).plus(estimate.cost)

    def _estimate(self, node: tree.Call, function: str, *, is_method: bool) -> Estimate:
        operands = [self._operand(argument) for argument in node.arguments]
        if is_method and node.target is not None:
            return call_estimate(function, self._operand(node.target), operands)
        match function:
            case "_+_":
                return self._added(node, *operands)
            case "_==_" | "_!=_":
                names = {operand.type.name for operand in operands}
                is_plain = function == "_==_" and len(names) == 1 and names <= _PLAIN_EQUALITY
                return Estimate(ONE) if is_plain else comparison(*operands)
            case "@in":
                return _membership(operands[1])
            case "_[_]":
                return self._indexed(node, operands[0])
        if function in _ORDERED:
            return _order(*operands)
        return call_estimate(function, None, operands)

    def _added(self, node: tree.Call, one: Operand, other: Operand) -> Estimate:
        kinds = {one.type.name, other.type.name} - {"dyn"}
        ours, theirs = (self._inside_of(argument) for argument in node.arguments)
        if ours is not None and theirs is not None:
            self._inside[id(node)] = ours.either(theirs)
        text, plain = joined(one, other), Estimate(ONE)
        if kinds & {"string", "bytes"}:
            return text
        if kinds == {"list"}:
            return Estimate(ONE, text.result)
        if not kinds:
            return Estimate(plain.cost.either(text.cost), text.result)
        return plain

    def _indexed(self, node: tree.Call, holder: Operand) -> Estimate:
        inner = self._inside_of(node.arguments[0])
        step = ITEMS if holder.type.name == "list" else VALUES
        self._paths[id(node)] = (*self._path(node.arguments[0]), step)
        return Estimate(ONE, inner.value if inner is not None else None)

    def _conditional(self, node: tree.Call) -> Range:
        condition, yes, no = (self.cost(argument) for argument in node.arguments)
        _, chosen, other = node.arguments
        self._sizes[id(node)] = self._bound(chosen).either(self._bound(other))
        ours, theirs = self._inside_of(chosen), self._inside_of(other)
        if ours is not None and theirs is not None:
            self._inside[id(node)] = ours.either(theirs)
        return condition.plus(yes.either(no))

    def _opt_map(self, node: tree.Call) -> Range:
        """`target.hasValue() ? optional.of(cel.bind(name, target.value(), body)) : optional.none()`."""
        assert node.target is not None, "a method has a target"
        name, body = node.arguments
        assert isinstance(name, tree.Ident), "the checker sees to it"
        target = self.cost(node.target)
        self._push(name.name, _Local())
        mapped = self.cost(body)
        self._locals[name.name].pop()
        chosen = total([LIST, target.plus(ONE), mapped, ONE if node.name == "optMap" else NOTHING])
        return target.plus(ONE).plus(chosen.either(ONE))

    # Macros

    def _fold(self, node: tree.Fold) -> Range:
        if node.macro == "bind":
            return self._bind(node)
        over = self.cost(node.over)
        for name, local in zip(node.names, self._round(node), strict=True):
            self._push(name, local)
        parts = [self.cost(part) for part in node.parts]
        last = self._size(node.parts[-1]) if node.macro != "filter" else self._local_size(node.names[0])
        for name in node.names:
            self._locals[name].pop()
        once, each = _LOOPS[node.macro](parts)
        rounds = self._bound(node.over)
        self._fold_size(node, rounds, last)
        return total([over, once, rounds.times(each)])

    def _bind(self, node: tree.Fold) -> Range:
        """`cel.bind(name, value, body)`: the value is made once."""
        value = self.cost(node.over)
        path, size, inside = self._path(node.over), self._size(node.over), self._inside_of(node.over)
        self._push(node.names[0], _Local(path=path, size=size, inside=inside, type=self._type(node.over)))
        body = self.cost(node.parts[0])
        size = self._size(node.parts[0])
        self._locals[node.names[0]].pop()
        if size is not None:
            self._sizes[id(node)] = size
        return total([LIST, value, body])

    def _round(self, node: tree.Fold) -> list[_Local]:
        inside = self._inside_of(node.over)
        over = self._type(node.over)
        is_list = inside.is_list if inside is not None else over.name == "list"
        path = self._path(node.over)
        key_size, value_size = (inside.key, inside.value) if inside is not None else (None, None)
        key = _Local(path=(*path, "@indices" if is_list else KEYS), size=key_size)
        value = _Local(path=(*path, ITEMS if is_list else VALUES), size=value_size)
        if len(node.names) == 2:
            return [key, value]
        return [value if is_list else key]

    def _fold_size(self, node: tree.Fold, rounds: Range, last: Range | None) -> None:
        if node.macro in ("map", "filter", "transformList"):
            self._sizes[id(node)] = rounds
            self._inside[id(node)] = Inside(True, ONE, NOTHING.either(last if last is not None else UNKNOWN))
        elif node.macro in ("transformMap", "transformMapEntry"):
            self._sizes[id(node)] = rounds
        else:
            self._sizes[id(node)] = ONE

    # What is known of a node

    def _operand(self, node: tree.Expr) -> Operand:
        kind = self._type(node)
        literal = node.value if isinstance(node, tree.Literal) else None
        item = self._declared_size((*self._path(node), ITEMS)) if kind.name == "list" and self._path(node) else None
        return Operand(type=kind, size=self._size(node), item_size=item, literal=literal)

    def _type(self, node: tree.Expr) -> Type:
        return self._types.get(id(node), DYN)

    def _bound(self, node: tree.Expr) -> Range:
        size = self._size(node)
        return size if size is not None else UNKNOWN

    def _size(self, node: tree.Expr) -> Range | None:
        known = self._sizes.get(id(node)) or _literal_size(node)
        if known is None and (path := self._path(node)):
            known = self._declared_size(path)
        if known is None and self._type(node).name in _SCALARS:
            known = ONE
        if known is None and (local := self._local(node)) is not None:
            known = local.size
        return known

    def _local_size(self, name: str) -> Range | None:
        local = self._locals[name][-1]
        declared = self._declared_size(local.path) if local.path else None
        return declared if declared is not None else local.size

    def _declared_size(self, path: tuple[str, ...]) -> Range | None:
        """Upstream's estimator of rules starts at `self` whatever a path begins with: that is what `""` stands for."""
        declared = self._declared.get(path[0]) or self._declared.get("")
        return declared.size(path[1:]) if declared is not None else None

    def _path(self, node: tree.Expr) -> tuple[str, ...]:
        local = self._local(node)
        return local.path if local is not None else self._paths.get(id(node), ())

    def _inside_of(self, node: tree.Expr) -> Inside | None:
        found = self._inside.get(id(node))
        if found is None and (local := self._local(node)) is not None:
            found = local.inside
        return found

    def _local(self, node: tree.Expr) -> _Local | None:
        found = self._locals.get(node.name) if isinstance(node, tree.Ident) else None
        return found[-1] if found else None

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _copy(self, node: tree.Expr, source: tree.Expr) -> None:
        size, inside = self._size(source), self._inside_of(source)
        if size is not None:
            self._sizes[id(node)] = size
        if inside is not None:
            self._inside[id(node)] = inside


def _literal_size(node: tree.Expr) -> Range | None:
    match node:
        case tree.Literal():
            return exactly(len(node.value)) if isinstance(node.value, str | bytes) else ONE
        case tree.Elements() | tree.Entries():
            return exactly(len(node.items))
    return None


def _membership(holder: Operand) -> Estimate:
    if holder.type.name == "list":
        return Estimate(holder.bound)
    return Estimate(holder.bound.either(ONE) if holder.type.name == "dyn" else ONE)


def _order(one: Operand, other: Operand) -> Estimate:
    kinds = {one.type.name, other.type.name} - {"dyn"}
    if kinds & {"string", "bytes"}:
        return comparison(one, other)
    return Estimate(ONE if kinds else comparison(one, other).cost.either(ONE))


# What a macro costs once and in each round. Its variable is looked up, its condition evaluated, and so on: the
# figures are those of the loop that the language's compiler makes of it.

_Costs = list[Range]


def _all_loop(parts: _Costs) -> tuple[Range, Range]:
    return ONE, exactly(2).plus(Range(1, 1 + parts[0].max))


def _exists_loop(parts: _Costs) -> tuple[Range, Range]:
    return ONE, exactly(3).plus(Range(1, 1 + parts[0].max))


def _exists_one_loop(parts: _Costs) -> tuple[Range, Range]:
    return exactly(2), parts[0].plus(Range(1, 2))


def _map_loop(parts: _Costs) -> tuple[Range, Range]:
    added = exactly(12).plus(parts[-1])
    return LIST.plus(ONE), total(parts[:-1]).plus(added.either(ONE)) if len(parts) > 1 else added


def _filter_loop(parts: _Costs) -> tuple[Range, Range]:
    return LIST.plus(ONE), parts[0].plus(exactly(13).either(ONE))


def _transform_map_loop(parts: _Costs) -> tuple[Range, Range]:
    added = exactly(3).plus(parts[-1])
    return MAP.plus(ONE), total(parts[:-1]).plus(added.either(ONE)) if len(parts) > 1 else added


def _transform_entry_loop(parts: _Costs) -> tuple[Range, Range]:
    added = exactly(2).plus(parts[-1])
    return MAP.plus(ONE), total(parts[:-1]).plus(added.either(ONE)) if len(parts) > 1 else added


_LOOPS: Final = {
    "all": _all_loop,
    "exists": _exists_loop,
    "exists_one": _exists_one_loop,
    "existsOne": _exists_one_loop,
    "map": _map_loop,
    "transformList": _map_loop,
    "filter": _filter_loop,
    "transformMap": _transform_map_loop,
    "transformMapEntry": _transform_entry_loop,
}
