"""Members that are written whatever they say.

Go writes a struct's member unless its tag lets it be left out; a member that is a struct is written even then. So
every object of a kind has these members: `status: {}`, an empty `name`, `rules: null`. The facts are in
`data/types.json` (`always`); `WrittenMembers.complete` puts them into a document.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from doorman.base.json_types import Document, Json

Fill = Callable[[Document], None]
Own = tuple[tuple[str, Callable[[], "Json"]], ...]
Steps = tuple[tuple[str, Callable[["Json"], None]], ...]

_ZEROS: Final[Mapping[str, Json]] = {
    "string": "", "int32": 0, "int64": 0, "double": 0, "bool": False, "quantity": "0", "intstr": 0,
}  # fmt: skip
"""What is written for a value nobody gave; null for all others."""

_OR_TYPES: Final = "apiextensions.v1.JSONSchemaPropsOr"


class WrittenMembers:
    """Completes documents by a table of types; each type is compiled when it is first met."""

    def __init__(self, types: Mapping[str, Any]) -> None:  # rows of data/types.json
        self._types = types
        self._fills: dict[str, Fill | None] = {}
        self._heads: dict[str, Own] = {}
        self._steps: dict[str, Steps] = {}

    def complete(self, doc: Document, type_name: str, known: Document | None = None) -> None:
        """Puts in what is missing, in place, at every depth. `known` is a complete document of the type: what is the
        same in it is not looked at.
        """
        fill = self._fill(type_name)
        if fill is None:
            return
        if known is None:
            fill(doc)
            return
        self.complete_head(doc, type_name)
        for name, step in self._steps[type_name]:
            member = doc.get(name)
            if member is not None and member != known.get(name):
                step(member)

    def complete_head(self, doc: Document, type_name: str) -> None:
        """The same for the members of the document itself, for what was taken out after it was complete."""
        head = self._heads.get(type_name)
        if head is None:
            head = self._heads[type_name] = self._own(type_name)
        for name, make in head:
            if name not in doc:
                doc[name] = make()

    def _fill(self, type_name: str) -> Fill | None:
        if type_name not in self._fills:
            if not self._matters(type_name, set()):
                self._fills[type_name] = None
            else:
                # Types refer to themselves (JSONSchemaProps), so the name is bound before its members are.
                self._fills[type_name] = lambda value: self._compiled(type_name)(value)
                self._fills[type_name] = self._compile(type_name)
        return self._fills[type_name]

    def _compiled(self, type_name: str) -> Fill:
        found = self._fills[type_name]
        assert found is not None, f"{type_name} was found to matter"
        return found

    def _matters(self, type_name: str, seen: set[str]) -> bool:
        """Whether anything may have to be put in, here or further down."""
        if type_name in seen or type_name not in self._types:
            return False
        seen.add(type_name)
        for field in self._types[type_name]["fields"].values():
            if isinstance(field, dict) and field.get("always"):
                return True
            struct = _struct_in(field["t"] if isinstance(field, dict) else field)
            if struct and self._matters(struct, seen):
                return True
        return False

    def _own(self, type_name: str) -> Own:
        fields = self._types.get(type_name, {"fields": {}})["fields"]
        return tuple(
            (name, self._maker(field))
            for name, field in fields.items()
            if isinstance(field, dict) and field.get("always")
        )

    def _maker(self, field: Mapping[str, Json]) -> Callable[[], Json]:
        expression = field["t"]
        if field["always"] == "null" or isinstance(expression, list):
            return lambda: None
        if not expression.startswith("@"):
            zero = _ZEROS.get(expression)
            return lambda: zero
        fill = self._fill(expression[1:])
        if fill is None:
            return dict

        def make() -> Json:
            value: Document = {}
            fill(value)
            return value

        return make

    def _compile(self, type_name: str) -> Fill:
        own = self._own(type_name)
        inner = []
        for name, field in self._types[type_name]["fields"].items():
            step = self._step(field["t"] if isinstance(field, dict) else field)
            if step is not None:
                inner.append((name, step))
        steps = self._steps[type_name] = tuple(inner)

        def fill(value: Document) -> None:
            for name, make in own:
                if name not in value:
                    value[name] = make()
            for name, step in steps:
                member = value.get(name)
                if member is not None:
                    step(member)

        return fill

    def _step(self, expression: Json) -> Callable[[Json], None] | None:
        """How a member of this type is completed; None: nothing can be missing in it."""
        if isinstance(expression, list):
            inner = self._step(expression[1])
            if inner is None:
                return None
            if expression[0] == "list":
                return lambda items: _each(items, inner)
            return lambda members: _each(members.values(), inner)
        if not expression.startswith("@") or expression[1:].startswith(_OR_TYPES):
            return None
        return self._fill(expression[1:])


def _each(items: Any, step: Callable[[Json], None]) -> None:
    for item in items:
        if item is not None:
            step(item)


def _struct_in(expression: Json) -> str:
    while isinstance(expression, list):
        expression = expression[1]
    return expression[1:] if expression.startswith("@") and not expression[1:].startswith(_OR_TYPES) else ""
