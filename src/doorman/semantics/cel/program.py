"""From a tree to something that runs: every node becomes a closure over a frame of names.

`&&`, `||` and the macros `all` and `exists` absorb errors: when one operand decides, an error in another is nothing.
The cost limit is the exception; it ends everything.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from doorman.semantics.cel.cel_errors import CelError, CostExceeded, no_overload
from doorman.semantics.cel.library.functions import FUNCTIONS, METHODS, TYPE_NAMES
from doorman.semantics.cel.macro_folds import FOLDS, Frame, Interpretable, boolean
from doorman.semantics.cel.operators import OPERATORS
from doorman.semantics.cel.overloads import Overload, call
from doorman.semantics.cel.property_names import unescaped_or_none
from doorman.semantics.cel.syntax import syntax_tree as tree
from doorman.semantics.cel.values import NONE, Optional, TypeName, Uint, Value, look_up, map_key


@runtime_checkable
class Lazy(Protocol):
    """A map whose values are made when they are asked for: a policy's variables."""

    def field(self, name: str) -> Value: ...

    def has_field(self, name: str) -> bool: ...


def build(node: tree.Expr) -> Interpretable:
    match node:
        case tree.Literal():
            value = Uint(node.value) if node.kind == "uint" and isinstance(node.value, int) else node.value
            return lambda _frame: value
        case tree.Ident():
            return _ident(node)
        case tree.Select():
            return _select(node)
        case tree.Has():
            return _has(node)
        case tree.Call():
            return _call(node)
        case tree.Elements():
            return _elements(node)
        case tree.Entries():
            return _entries([(build(key), build(value)) for key, value in node.items], node.optional)
        case tree.Message():
            named = [(_constant(name), build(value)) for name, value in node.fields]
            return _entries(named, node.optional)
        case tree.Fold():
            return _fold(node)


def namespaced(node: tree.Call) -> str:
    """`optional.of` for a method of a bare name that is no variable but part of a function's name, else empty."""
    if isinstance(node.target, tree.Ident) and f"{node.target.name}.{node.name}" in FUNCTIONS:
        return f"{node.target.name}.{node.name}"
    return ""


def _constant(value: Value) -> Interpretable:
    return lambda _frame: value


def _ident(node: tree.Ident) -> Interpretable:
    name = node.name
    fallback = TypeName(name) if name in TYPE_NAMES else None

    def step(frame: Frame) -> Value:
        meter = frame.meter
        meter.left -= 1
        if meter.left < 0:
            raise CostExceeded
        names = frame.names
        if name in names:
            return names[name]
        if fallback is not None:
            return fallback
        raise CelError(f"no such attribute(s): {name}")

    return step


def _select(node: tree.Select) -> Interpretable:
    operand, field, is_optional = build(node.operand), node.field, node.is_optional

    def step(frame: Frame) -> Value:
        frame.meter.charge(1)
        found = operand(frame)
        if is_optional or isinstance(found, Optional):
            return _optional_field(found, field)
        if isinstance(found, dict):
            if field in found:
                return found[field]
            plain = unescaped_or_none(field)
            if plain is not None and plain in found:
                return found[plain]
            raise CelError(f"no such key: {field}")
        if isinstance(found, Lazy):
            return found.field(field)
        raise no_overload()

    return step


def _optional_field(found: Value, field: str) -> Optional:
    if isinstance(found, Optional):
        if not found.values:
            return NONE
        found = found.values[0]
    if isinstance(found, Lazy):
        return Optional((found.field(field),)) if found.has_field(field) else NONE
    if not isinstance(found, dict):
        raise no_overload()
    plain = field if field in found else unescaped_or_none(field)
    return Optional((found[plain],)) if plain is not None and plain in found else NONE


def _has(node: tree.Has) -> Interpretable:
    operand, field = build(node.operand), node.field
    plain = unescaped_or_none(field)

    def step(frame: Frame) -> bool:
        frame.meter.charge(1)
        found = operand(frame)
        if isinstance(found, Optional):
            return bool(_optional_field(found, field).values)
        if isinstance(found, dict):
            return field in found or (plain is not None and plain in found)
        if isinstance(found, Lazy):
            return found.has_field(field)
        raise no_overload()

    return step


def _call(node: tree.Call) -> Interpretable:
    steps = [build(argument) for argument in node.arguments]
    if node.target is None:
        match node.name:
            case "_&&_":
                return _logical(steps, decisive=False)
            case "_||_":
                return _logical(steps, decisive=True)
            case "_?_:_":
                return _conditional(*steps)
        if node.name in OPERATORS:
            return _operator(OPERATORS[node.name], steps)
        return _function(FUNCTIONS.get(node.name, ()), steps)
    if name := namespaced(node):
        return _function(FUNCTIONS[name], steps)
    target = build(node.target)
    if node.name in ("or", "orValue"):
        return _or(target, steps[0], is_value=node.name == "orValue")
    if node.name in ("optMap", "optFlatMap"):
        return _opt_map(target, node)
    return _function(METHODS.get(node.name, ()), [target, *steps])


def _operator(apply: Callable[..., Value], steps: Sequence[Interpretable]) -> Interpretable:
    if len(steps) == 1:
        (only,) = steps

        def unary(frame: Frame) -> Value:
            frame.meter.charge(1)
            return apply(frame.meter, only(frame))

        return unary
    left, right = steps

    def binary(frame: Frame) -> Value:
        frame.meter.charge(1)
        return apply(frame.meter, left(frame), right(frame))

    return binary


def _function(overloads: Sequence[Overload], steps: Sequence[Interpretable]) -> Interpretable:
    def step(frame: Frame) -> Value:
        frame.meter.charge(1)
        return call(overloads, frame.meter, [one(frame) for one in steps])

    return step


def _logical(steps: Sequence[Interpretable], *, decisive: bool) -> Interpretable:
    def step(frame: Frame) -> bool:
        failed: CelError | None = None
        for one in steps:
            frame.meter.charge(1)
            try:
                if boolean(one(frame)) is decisive:
                    return decisive
            except CostExceeded:
                raise
            except CelError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return not decisive

    return step


def _conditional(condition: Interpretable, yes: Interpretable, no: Interpretable) -> Interpretable:
    def step(frame: Frame) -> Value:
        frame.meter.charge(1)
        return yes(frame) if boolean(condition(frame)) else no(frame)

    return step


def _or(target: Interpretable, other: Interpretable, *, is_value: bool) -> Interpretable:
    """The alternative is evaluated only when it is needed."""

    def step(frame: Frame) -> Value:
        frame.meter.charge(1)
        found = target(frame)
        if not isinstance(found, Optional):
            raise no_overload()
        if not found.values:
            return other(frame)
        return found.values[0] if is_value else found

    return step


def _opt_map(target: Interpretable, node: tree.Call) -> Interpretable:
    name, *rest = node.arguments
    assert isinstance(name, tree.Ident), "the checker sees to it"
    variable, body = name.name, build(rest[0])
    is_flat = node.name == "optFlatMap"

    def step(frame: Frame) -> Value:
        frame.meter.charge(1)
        found = target(frame)
        if not isinstance(found, Optional):
            raise no_overload()
        if not found.values:
            return NONE
        with _Bound(frame, (variable,)) as bound:
            bound.set(found.values)
            value = body(frame)
        if is_flat and not isinstance(value, Optional):
            raise no_overload()
        return value if is_flat else Optional((value,))

    return step


def _elements(node: tree.Elements) -> Interpretable:
    steps = [(build(item), index in node.optional) for index, item in enumerate(node.items)]

    def step(frame: Frame) -> list[Value]:
        frame.meter.charge(len(steps))
        found: list[Value] = []
        for one, is_optional in steps:
            value = one(frame)
            if is_optional:
                if not isinstance(value, Optional):
                    raise no_overload()
                found.extend(value.values)
            else:
                found.append(value)
        return found

    return step


def _entries(steps: Sequence[tuple[Interpretable, Interpretable]], optional: frozenset[int]) -> Interpretable:
    def step(frame: Frame) -> dict[Value, Value]:
        frame.meter.charge(len(steps))
        found: dict[Value, Value] = {}
        for index, (key, value) in enumerate(steps):
            name, item = map_key(key(frame)), value(frame)
            if look_up(found, name):
                raise CelError(f"Failed with repeated key: {name}")
            if index not in optional:
                found[name] = item
            elif not isinstance(item, Optional):
                raise no_overload()
            elif item.values:
                found[name] = item.values[0]
        return found

    return step


class _Bound:
    """Names that hold inside a macro; what they meant outside comes back afterwards."""

    __slots__ = ("_before", "_frame", "_names")

    def __init__(self, frame: Frame, names: Sequence[str]) -> None:
        self._frame = frame
        self._names = names
        self._before = {name: frame.names[name] for name in names if name in frame.names}

    def __enter__(self) -> "_Bound":
        return self

    def set(self, values: Sequence[Value]) -> None:
        for name, value in zip(self._names, values, strict=True):
            self._frame.names[name] = value

    def __exit__(self, *_: object) -> None:
        for name in self._names:
            self._frame.names.pop(name, None)
        self._frame.names.update(self._before)


def _fold(node: tree.Fold) -> Interpretable:
    over, parts = build(node.over), [build(part) for part in node.parts]
    names, macro = node.names, node.macro
    if macro == "bind":
        return _bind(over, names[0], parts[0])

    def step(frame: Frame) -> Value:
        found = over(frame)
        if not isinstance(found, list | dict):
            raise no_overload()
        with _Bound(frame, names) as bound:
            return FOLDS[macro](_rounds(frame, bound, found, len(names)), frame, parts)

    return step


def _bind(value: Interpretable, name: str, body: Interpretable) -> Interpretable:
    def step(frame: Frame) -> Value:
        frame.meter.charge(1)
        found = value(frame)
        with _Bound(frame, (name,)) as bound:
            bound.set((found,))
            return body(frame)

    return step


def _rounds(frame: Frame, bound: _Bound, found: Value, count: int) -> Iterator[tuple[Value, ...]]:
    """Binds the names to each element in turn, and gives what they are bound to."""
    rows: Sequence[tuple[Value, ...]]
    if isinstance(found, dict):
        rows = list(found.items()) if count == 2 else [(key,) for key in found]
    else:
        rows = list(enumerate(found)) if count == 2 else [(item,) for item in found]
    for row in rows:
        frame.meter.charge(1)
        bound.set(row)
        yield row
