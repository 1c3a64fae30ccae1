"""kubectl's templates: `{.items[*].metadata.name}`, `{range .items[*]}{.metadata.name}{"\\n"}{end}`.

Text outside of braces stands for itself. Inside are paths, quoted texts, and `range … end`. A path has members (`.a`,
`['a']`), elements (`[0]`, `[-1]`, `[*]`, `[1:3]`), filters (`[?(@.a=="b")]`) and descent (`..a`). Several values are
separated by blanks; an object is written as JSON.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from doorman.base.json_types import Json


class TemplateError(ValueError):
    """The template cannot be read, or names something that is not there."""


_PART: Final = re.compile(
    r"""\.\.(?P<deep>[\w-]+)|\.(?P<member>(?:\\.|[^.\[\]\\{} ])+)|\.(?=\[|$)|\[\*\](?P<all>)"""
    r"""|\['(?P<quoted>[^']*)'\]|\[(?P<from>-?\d*):(?P<to>-?\d*)\]|\[(?P<index>-?\d+)\]"""
    r"""|\[\?\((?P<filter>[^)]*)\)\]"""
)
_TEST: Final = re.compile(r"""^\s*@(?P<path>[^=!<>\s]*)\s*(?:(?P<sign>==|!=|<=|>=|<|>)\s*(?P<value>.+?))?\s*$""")
_PIECE: Final = re.compile(r"\{((?:[^{}\"']|\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*')*)\}|([^{}]+)", re.DOTALL)


def render(template: str, doc: Json) -> str:
    """
    >>> pods = {"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}
    >>> render("{.items[*].metadata.name}", pods)
    'a b'
    >>> render('{range .items[*]}{.metadata.name};{end}', pods)
    'a;b;'
    """
    pieces = _pieces(template)
    out, rest = _run(pieces, doc)
    if rest:
        raise TemplateError("unexpected {end}")
    return out


def values(path: str, doc: Json) -> list[Json]:
    """All that a path leads to.

    >>> values("{.a[?(@.k==\\"x\\")].v}", {"a": [{"k": "x", "v": 1}, {"k": "y", "v": 2}]})
    [1]
    """
    text = path.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1].strip()
    if not text.startswith((".", "[", "$", "@")):
        text = "." + text
    found, at = [doc], 1 if text[0] in "$@" else 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise TemplateError(f'"{path}" is no path: cannot read "{text[at:]}"')
        found = [value for one in found for value in _step(one, part)]
        at = part.end()
    return found


def text_of(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return msgspec.json.encode(value).decode() if value is not None else ""


def _pieces(template: str) -> list[str]:
    """Texts as they are, what is in braces with its brace."""
    out: list[str] = []
    at = 0
    while at < len(template):
        piece = _PIECE.match(template, at)
        if piece is None:
            raise TemplateError(f"error parsing jsonpath {template}, unclosed action")
        out.append(template[at : piece.end()])
        at = piece.end()
    return out


def _run(pieces: list[str], doc: Json) -> tuple[str, list[str]]:
    """What the pieces say until an `{end}` of an outer range, and what follows it."""
    out: list[str] = []
    while pieces:
        piece, *pieces = pieces
        inner = piece[1:-1].strip() if piece.startswith("{") else None
        if inner is None:
            out.append(piece)
        elif inner == "end":
            return "".join(out), [piece, *pieces]
        elif inner.startswith("range"):
            found = values(inner.removeprefix("range"), doc)
            rest = pieces
            for one in found or [None]:
                said, rest = _run(pieces, one if found else {})
                if found:
                    out.append(said)
            if not rest:
                raise TemplateError("{range} without {end}")
            pieces = rest[1:]
        elif inner[:1] in "\"'":
            out.append(_unquoted(inner))
        else:
            out.append(" ".join(text_of(one) for one in values(inner, doc)))
    return "".join(out), []


def _unquoted(text: str) -> str:
    if len(text) < 2 or text[-1] != text[0]:
        raise TemplateError(f"unterminated quoted string {text}")
    return text[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape")


def _step(value: Json, part: "re.Match[str]") -> Iterator[Json]:
    groups = part.groupdict()
    if (name := groups["member"] or groups["quoted"]) is not None:
        name = name.replace("\\", "")
        if isinstance(value, dict) and name in value:
            yield value[name]
        elif name == "*":
            yield from _children(value)
    elif groups["all"] is not None:
        yield from _children(value)
    elif groups["index"] is not None:
        if isinstance(value, list) and -len(value) <= int(groups["index"]) < len(value):
            yield value[int(groups["index"])]
    elif groups["from"] is not None:
        low, high = (int(text) if text else None for text in (groups["from"], groups["to"]))
        yield from value[low:high] if isinstance(value, list) else ()
    elif groups["filter"] is not None:
        yield from (one for one in _children(value) if _passes(one, groups["filter"]))
    elif groups["deep"] is not None:
        yield from _deep(value, groups["deep"])
    else:
        yield value


def _children(value: Json) -> Iterator[Json]:
    yield from value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()


def _deep(value: Json, name: str) -> Iterator[Json]:
    if isinstance(value, dict) and name in value:
        yield value[name]
    for child in _children(value):
        yield from _deep(child, name)


def _passes(value: Json, test: str) -> bool:
    found = _TEST.match(test)
    if found is None:
        raise TemplateError(f'"{test}" is no filter')
    left = values(found["path"] or ".", value)
    if found["sign"] is None:
        return bool(left)
    text = found["value"]
    right: Json = text[1:-1] if text[:1] in "\"'" else msgspec.json.decode(text)
    return any(_compares(one, found["sign"], right) for one in left)


def _compares(left: Json, sign: str, right: Json) -> bool:
    if sign == "==":
        return bool(left == right)
    if sign == "!=":
        return bool(left != right)
    if type(left) is not type(right):
        return False
    return bool({"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[sign])
