"""Members of which Kubernetes keeps the text and not the value (its type is RawExtension).

What a driver is to be told (`parameters`), what it reports (`data`) and a ControllerRevision's `data` are bytes
upstream. Where an API server asks whether such a member has changed it compares those bytes: white space, the order of
members, and `1.0` in the place of `1` count. A client that sends JSON gives the text itself. A patch is made upon the
object as it is written for clients, compact and with `<`, `>` and `&` escaped; a strategic merge patch and an applied
configuration put members in order besides.

In a document such a member is a dict like any other, when the text is what that dict is written as; otherwise it is a
`RawObject`, which has the text beside the value:

    {"parameters":{ "a": 1 }}    sent     RawObject({"a": 1}, text=b'{ "a": 1 }')
    {"parameters":{"a":1}}       sent     {"a": 1}
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from doorman.base.go_format import in_html, with_go_numbers
from doorman.base.json_types import Json

MemberPath = tuple[str, ...]
"""Names of members; `*` stands for every element of a list."""

_CONFIGURATION: Final = ("devices", "config", "*", "opaque", "parameters")

RAW_MEMBERS: Final[Mapping[str, tuple[MemberPath, ...]]] = {
    "controllerrevisions.apps": (("data",),),
    "deviceclasses.resource.k8s.io": (("spec", "config", "*", "opaque", "parameters"),),
    "resourceclaims.resource.k8s.io": (
        ("spec", *_CONFIGURATION),
        ("status", "allocation", *_CONFIGURATION),
        ("status", "devices", "*", "data"),
    ),
    "resourceclaimtemplates.resource.k8s.io": (("spec", "spec", *_CONFIGURATION),),
}
"""By group resource; they are at the same place in every version."""

_IN_LISTS_OWNED_WHOLE: Final = ("parameters",)

_SPACE: Final = re.compile(rb'("(?:[^"\\]|\\.)*")|[ \t\r\n]+', re.DOTALL)

_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode
_decode: Final = msgspec.json.Decoder().decode
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode

MemberChange = Callable[[dict[str, Any]], Json]


class RawObject(dict[str, Any]):
    """An object and the text it is kept as. Equal to what is kept as the same text."""

    __slots__ = ("text",)
    __hash__ = None  # as a dict

    def __init__(self, value: Mapping[str, Any], text: bytes) -> None:
        super().__init__(value)
        self.text = text

    def __eq__(self, other: object) -> bool:
        return self.text == text_of(other) if isinstance(other, dict) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return self.text != text_of(other) if isinstance(other, dict) else NotImplemented

    def __reduce__(self) -> tuple[type["RawObject"], tuple[dict[str, Any], bytes]]:
        return RawObject, (dict(self), self.text)


def text_of(value: dict[str, Any]) -> bytes:
    return value.text if isinstance(value, RawObject) else _encode(value)


def raw_object(value: dict[str, Any], text: bytes) -> dict[str, Any]:
    """
    >>> raw_object({"a": 1}, b'{"a":1}'), raw_object({"a": 1}, b'{"a": 1}').text
    ({'a': 1}, b'{"a": 1}')
    """
    plain = dict(value)
    return plain if _encode(plain) == text else RawObject(plain, text)


def canonical(value: dict[str, Any]) -> dict[str, Any]:
    """The same with the text that Go makes of a map.

    >>> text_of(canonical({"b": "<", "a": 1.0}))
    b'{"a":1,"b":"\\\\u003c"}'
    """
    return raw_object(value, in_html(_encode_sorted(with_go_numbers(value)).decode()).encode())


def compact(value: dict[str, Any]) -> dict[str, Any]:
    """The same with its text as clients are shown it.

    >>> text_of(compact(RawObject({"b": "< ", "a": 1.0}, b'{ "b": "< ", "a": 1.0 }')))
    b'{"b":"\\\\u003c ","a":1.0}'
    """
    return raw_object(value, in_html(_SPACE.sub(rb"\1", text_of(value)).decode()).encode())


def replaced(storage: str, doc: dict[str, Any], change: MemberChange) -> dict[str, Any]:
    """The document with every raw member changed; what holds them is copied, and nothing else."""
    for path in RAW_MEMBERS.get(storage, ()):
        doc = _replaced(doc, path, change)
    return doc


def to_written(storage: str, doc: dict[str, Any]) -> dict[str, Any]:
    """The document in which raw members are written as their texts. It is for an encoder, and nobody else."""
    return replaced(storage, doc, lambda value: msgspec.Raw(value.text) if isinstance(value, RawObject) else value)


def without_texts(storage: str, doc: dict[str, Any]) -> dict[str, Any]:
    """The document as its values alone make it, for whoever compares or changes those."""
    return replaced(storage, doc, dict) if storage in RAW_MEMBERS else doc


def without_own_texts(storage: str, doc: dict[str, Any]) -> dict[str, Any]:
    """The same of members that have an owner each. Upstream compares those as values, but lists that are owned whole,
    as configurations are, as what is in memory: with the texts.
    """
    for path in RAW_MEMBERS.get(storage, ()):
        if path[-1] not in _IN_LISTS_OWNED_WHOLE:
            doc = _replaced(doc, path, dict)
    return doc


def read_texts(storage: str, doc: dict[str, Any], text: bytes) -> None:
    """Give the raw members of a document their texts, in place. `text` is the JSON it was decoded from."""
    for path in RAW_MEMBERS.get(storage, ()):
        if b'"%s"' % path[-1].encode() in text:
            _read(doc, text, path)


class RawTexts:
    """Of the raw members of an object, by their values: what a patch has left alone is found again."""

    def __init__(self, storage: str, doc: dict[str, Any], touched: Json = None) -> None:
        """`touched` is a merge patch: what it names is written anew, also when that is the same."""
        self._storage = storage
        paths = RAW_MEMBERS.get(storage, ())
        self._known = {_encode(value): value for path in paths for value in _found(doc, path)}
        for named in [_encode(value) for path in paths for value in _found(touched, path)]:
            self._known.pop(named, None)

    def after(self, patched: dict[str, Any], untouched: MemberChange) -> dict[str, Any]:
        """What a patch made of the object: members that it left alone are changed so, others are as Go writes them."""

        def change(value: dict[str, Any]) -> dict[str, Any]:
            known = self._known.get(_encode(value))
            settled: dict[str, Any] = canonical(value) if known is None else untouched(known)
            return settled

        return replaced(self._storage, patched, change)


def as_it_is(value: dict[str, Any]) -> dict[str, Any]:
    """For who speaks protobuf upstream, and so writes the very text that it has read."""
    return value


def _replaced(value: Json, path: MemberPath, change: MemberChange) -> Json:
    if not path:
        return change(value) if isinstance(value, dict) else value
    name, rest = path[0], path[1:]
    if name == "*":
        return [_replaced(item, rest, change) for item in value] if isinstance(value, list) else value
    if not isinstance(value, dict) or (member := value.get(name)) is None:
        return value
    new = _replaced(member, rest, change)
    return value if new is member else {**value, name: new}


def _found(value: Json, path: MemberPath) -> Iterator[dict[str, Any]]:
    if not path:
        if isinstance(value, dict):
            yield value
    elif path[0] == "*":
        for item in value if isinstance(value, list) else ():
            yield from _found(item, path[1:])
    elif isinstance(value, dict):
        yield from _found(value.get(path[0]), path[1:])


def _read(value: Json, text: bytes | msgspec.Raw, path: MemberPath) -> Json:
    if not path:
        # A member that occurs twice has been read otherwise by who knows the types.
        is_read = isinstance(value, dict) and _encode(_decode(text)) == _encode(value)
        return raw_object(value, bytes(text)) if is_read else value
    name, rest = path[0], path[1:]
    try:
        if name == "*" and isinstance(value, list):
            for index, item in enumerate(_elements(text)[: len(value)]):
                value[index] = _read(value[index], item, rest)
        elif isinstance(value, dict) and isinstance(value.get(name), dict | list):
            found = _members(text).get(name)
            value[name] = value[name] if found is None else _read(value[name], found, rest)
    except msgspec.MsgspecError:
        return value  # of another type where a member occurs twice
    return value
