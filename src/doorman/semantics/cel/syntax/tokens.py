"""The words of an expression, and how it is told which of them was not expected.

The words about errors are those of the generated parser that Kubernetes uses: a word is *mismatched* when something
else was expected, *extraneous* when all would be well without it, and *missing* when all would be well with it.
What was expected is listed in the order of the grammar's tokens.
"""

import re
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from doorman.semantics.cel.cel_errors import CompileError

END: Final = "<EOF>"
OPERANDS: Final = (
    "[", "{", "(", ".", "-", "!", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES",
    "IDENTIFIER",
)  # fmt: skip
"""What an operand begins with."""
OPERATORS: Final = ("==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", ".", "-", "?", "+", "*", "/", "%")
"""What may follow one, wherever it stands."""
_ORDER: Final = (
    END, "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER",
    "ESC_IDENTIFIER",
)  # fmt: skip
_CLASSES: Final = {
    "float": "NUM_FLOAT", "int": "NUM_INT", "uint": "NUM_UINT", "string": "STRING", "bytes": "BYTES",
    "ident": "IDENTIFIER", "quoted": "ESC_IDENTIFIER",
}  # fmt: skip
_WORDS: Final = frozenset(("true", "false", "null", "in"))
_TOKEN: Final = re.compile(
    r"""
    (?P<space>(?:[ \t\n\f\r]+|//[^\n]*)+)
  | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<uint>(?:0[xX][0-9a-fA-F]+|[0-9]+)[uU])
  | (?P<int>0[xX][0-9a-fA-F]+|[0-9]+)
  | (?P<string>(?:[bB][rR]?|[rR][bB]?)?(?:\"{3}|'{3}|\"|'))
  | (?P<ident>[_a-zA-Z][_a-zA-Z0-9]*)
  | (?P<quoted>`[^`\n]*`)
  | (?P<mark>&&|\|\||==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{}])
    """,
    re.VERBOSE,
)
_ESCAPES: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "?": "?", '"': '"', "'": "'", "`": "`",
}  # fmt: skip
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)


class Token(msgspec.Struct, frozen=True):
    at: int
    kind: str
    text: str
    value: object = None

    @property
    def name(self) -> str:
        """As lists of what is expected call it."""
        return self.text if self.text in _WORDS else _CLASSES.get(self.kind, self.text)


def tokens_of(text: str) -> tuple[list[Token], list[CompileError]]:
    """All words, the end of the text last, and what in between is none. Raises CompileError for a bad escape."""
    found: list[Token] = []
    faults: list[CompileError] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            # Half an operator: what should have been its other half is gone too.
            end = at + (2 if text[at] in "|&=" else 1)
            faults.append(_unknown(text, at, end))
            at = end
            continue
        kind, raw = match.lastgroup or "", match.group()
        if kind == "string":
            token = _string(text, at, raw)
            if isinstance(token, CompileError):
                faults.append(token)
                at = _end_of_line(text, at)
                continue
            found.append(token)
            at += len(token.text)
            continue
        if kind != "space":
            found.append(Token(at, kind, raw))
        at = match.end()
    found.append(Token(len(text), "end", END))
    return found, faults


def unexpected(text: str, tokens: Sequence[Token], expected: Collection[str], follows: Collection[str]) -> CompileError:
    """About the first of the tokens. `follows`: what may come after the one thing that is expected."""
    token, after = tokens[0], tokens[min(1, len(tokens) - 1)]
    wanted = _listed(expected)
    if token.kind != "end" and after.name in expected:
        why = f"extraneous input '{token.text}' expecting {wanted}"
    elif token.name in follows:
        why = f"missing {wanted} at '{token.text}'"
    else:
        why = f"mismatched input '{token.text}' expecting {wanted}"
    return CompileError(text, token.at, f"Syntax error: {why}")


def _listed(expected: Collection[str]) -> str:
    names = [name if name == END or name.isupper() else f"'{name}'" for name in _ORDER if name in expected]
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"


def _unknown(text: str, at: int, end: int) -> CompileError:
    return CompileError(text, at, f"Syntax error: token recognition error at: '{text[at:end]}'")


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _string(text: str, at: int, opening: str) -> Token | CompileError:
    quote = opening.lstrip("bBrR")
    flags = opening[: -len(quote)].lower()
    start = end = at + len(opening)
    while True:
        if end >= len(text) or (len(quote) == 1 and text[end] in "\r\n"):
            return _unknown(text, at, min(end, len(text)))
        if text.startswith(quote, end):
            break
        end += 2 if text[end] == "\\" and "r" not in flags else 1
    raw = text[start:end]
    whole = text[at : end + len(quote)]
    if "b" in flags:
        return Token(at, "bytes", whole, raw.encode() if "r" in flags else _unescaped_bytes(text, start, raw))
    value = raw if "r" in flags else _ESCAPE.sub(lambda match: _unescaped(text, start, match), raw)
    return Token(at, "string", whole, value)


def _unescaped(text: str, start: int, match: re.Match[str]) -> str:
    hexadecimal = match[1] or match[2] or match[3] or match[4]
    code = int(hexadecimal, 16) if hexadecimal else int(match[5], 8) if match[5] else -1
    if code >= 0:
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise CompileError(text, start + match.start(), "Syntax error: invalid unicode code point")
        return chr(code)
    if match[6] not in _ESCAPES:
        raise CompileError(text, start + match.start(), f"Syntax error: unable to unescape \\{match[6]}")
    return _ESCAPES[match[6]]


def _unescaped_bytes(text: str, start: int, raw: str) -> bytes:
    out, at = bytearray(), 0
    for match in _ESCAPE.finditer(raw):
        out += raw[at : match.start()].encode()
        octet = match[1] or match[2]
        if octet or match[5]:
            out.append(int(octet, 16) if octet else int(match[5], 8))
        else:
            out += _unescaped(text, start, match).encode()
        at = match.end()
    return bytes(out + raw[at:].encode())
