"""Documents of a YAML file, and on which line each of their members is.

Words without quotes mean what they mean to the API server, which is not always what they mean to PyYAML.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from doorman.server.codec.yaml_bodies import YamlError, plain_scalar

YamlPath = tuple[str | int, ...]
"""Members and indexes from the document's root on."""

_BASE: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's, where there is one
_MERGE: Final = "tag:yaml.org,2002:merge"
_TEXT: Final = "tag:yaml.org,2002:str"


class _Loader(_BASE):  # type: ignore[misc]  # libyaml's has no types
    """Resolves merges; every other plain word is left to `plain_scalar`."""


_Loader.yaml_implicit_resolvers = {
    first: kept
    for first, found in _BASE.yaml_implicit_resolvers.items()
    if (kept := [(tag, pattern) for tag, pattern in found if tag == _MERGE])
}


def _scalar(_: Any, node: yaml.ScalarNode) -> Any:  # the loader; JSON
    try:
        return node.value if node.style else plain_scalar(node.value)
    except YamlError as error:
        raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error


_Loader.add_constructor(_TEXT, _scalar)


class Position(msgspec.Struct, frozen=True):
    """Counted from 1."""

    line: int
    column: int


class PositionedDocument:
    """One document: its value, and where its parts are."""

    def __init__(self, value: Any, root: yaml.Node) -> None:  # JSON
        self.value = value
        self._root = root

    @property
    def first_line(self) -> int:
        return self._root.start_mark.line + 1

    @property
    def last_line(self) -> int:
        return self._root.end_mark.line + 1

    def position(self, path: YamlPath) -> Position:
        """Of the member's key or the list's element; of the nearest that is there when the path leads further."""
        node, mark = self._root, self._root.start_mark
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            node, mark = found[1], found[0].start_mark
        return Position(mark.line + 1, mark.column + 1)


def read_positioned(text: str) -> Iterator[PositionedDocument]:
    """Raises yaml.YAMLError."""
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            yield PositionedDocument(loader.construct_document(node), node)
    finally:
        loader.dispose()


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """The node to point at, and the node to go on from."""
    if isinstance(node, yaml.MappingNode) and isinstance(step, str):
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and 0 <= step < len(node.value):
        return node.value[step], node.value[step]
    return None
