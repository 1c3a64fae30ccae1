"""CEL's grammar: from text to a tree. Macros are expanded here, as the language says."""

import math
from collections.abc import Sequence
from typing import Final

from doorman.semantics.cel.cel_errors import CompileError, all_of
from doorman.semantics.cel.syntax.syntax_tree import (
    Call,
    Elements,
    Entries,
    Expr,
    Fold,
    Has,
    Ident,
    Literal,
    Message,
    Select,
)
from doorman.semantics.cel.syntax.tokens import END, OPERANDS, OPERATORS, Token, tokens_of, unexpected

TEXT_CHARS_MAX: Final = 32 * 1024
DEPTH_MAX: Final = 60
CHAIN_MAX: Final = 200
"""Of nested expressions, and of operators or members in a row: more would exhaust the interpreter's stack."""


_RESERVED: Final = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
_LEVELS: Final = {
    "||": 0, "&&": 1, "==": 2, "!=": 2, "<": 2, "<=": 2, ">": 2, ">=": 2, "in": 2,
    "+": 3, "-": 3, "*": 4, "/": 4, "%": 4,
}  # fmt: skip
_FLAT_LEVELS: Final = 2
_NAMES: Final = {"!": "!_", "-": "-_", "in": "@in"}
_INT64_MAX: Final = 2**63 - 1
_FOLDS: Final = {
    "all": (2, 3), "exists": (2, 3), "exists_one": (2, 3), "existsOne": (2, 3), "map": (2, 3), "filter": (2,),
    "transformList": (3, 4), "transformMap": (3, 4), "transformMapEntry": (3, 4),
}  # fmt: skip
_TWO_NAMES_ONLY: Final = ("transformList", "transformMap", "transformMapEntry")


def parse(text: str) -> Expr:
    """The tree of an expression. Raises CompileError."""
    if len(text) > TEXT_CHARS_MAX:
        raise CompileError(text[:80], 0, f"expression code point size exceeds limit: size: {len(text)}")
    tokens, faults = tokens_of(text)
    try:
        found = _Parser(text, tokens).whole()
    except CompileError as fault:
        faults.append(fault)
    else:
        if not faults:
            return found
    raise all_of(faults)


class _Parser:
    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0
        self._closings: list[Sequence[str]] = []
        """For each bracket that is open: what may come next instead of an operator."""
        self._also: Sequence[str] = ()
        self._also_at = -1
        """What may stand in the place of an operand, and where that is so."""
        self._depth = 0

    def whole(self) -> Expr:
        found = self._expression()
        if self._peek().kind != "end":
            raise self._unexpected(END)
        return found

    # Tokens

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _is(self, mark: str) -> bool:
        token = self._peek()
        return token.text == mark and token.kind in ("mark", "ident")

    def _take(self, mark: str = "") -> Token:
        token = self._peek()
        if mark and not self._is(mark):
            raise self._unexpected(mark)
        self._next += 1
        return token

    def _skip(self, mark: str) -> bool:
        if not self._is(mark):
            return False
        self._next += 1
        return True

    def _unexpected(self, *expected: str) -> CompileError:
        follows: Sequence[str] = ()
        if len(expected) == 1 and expected[0] in ")]}":
            follows = (*OPERATORS, *(self._closings[-2] if len(self._closings) > 1 else (END,)))
        elif len(expected) == 1 and expected[0] in ",:":
            follows = OPERANDS
        return unexpected(self._text, self._tokens[self._next :], expected, follows)

    def _open(self, closing: str, *others: str) -> None:
        """A bracket was opened: what ends it, and what else may come where an operand could begin."""
        self._closings.append((closing, ",") if others else (closing,))
        self._also, self._also_at = (closing, *others), self._next

    def _close(self, *expected: str) -> None:
        """`expected` begins with what ends the bracket."""
        if not self._is(expected[0]):
            raise self._unexpected(*expected)
        self._next += 1
        self._closings.pop()

    def _no_way_on(self, start: Token) -> CompileError:
        """From `start` to the next token nothing fits."""
        token = self._peek()
        end = len(self._text) if token.kind == "end" else token.at + len(token.text)
        return CompileError(
            self._text,
            token.at,
            f"Syntax error: no viable alternative at input '{self._text[start.at : end].rstrip()}'",
        )

    # Expressions

    def _expression(self) -> Expr:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise CompileError(self._text, self._peek().at, "Syntax error: expression recursion limit exceeded")
        condition = self._binary(0)
        if self._is("?"):
            at = self._take().at
            chosen = self._binary(0)
            self._take(":")
            condition = Call(at, "_?_:_", (condition, chosen, self._expression()))
        self._depth -= 1
        return condition

    def _binary(self, level_min: int) -> Expr:
        """Operators by precedence. Chains of `||` and `&&` become one call with all their operands."""
        left = self._unary()
        length = 0
        while (level := self._level()) >= level_min:
            token = self._take()
            name = _NAMES["in"] if token.text == "in" else f"_{token.text}_"
            operands = [left, self._binary(level + 1)]
            while level < _FLAT_LEVELS and self._skip(token.text):
                operands.append(self._binary(level + 1))
            left = Call(token.at, name, tuple(operands))
            length += 1
            if length > CHAIN_MAX:
                raise CompileError(self._text, token.at, "Syntax error: expression recursion limit exceeded")
        return left

    def _level(self) -> int:
        token = self._peek()
        return _LEVELS.get(token.text, -1) if token.kind in ("mark", "ident") else -1

    def _unary(self) -> Expr:
        token = self._peek()
        if token.kind == "mark" and token.text in "!-":
            marks = 0
            while self._is(token.text):
                self._next += 1
                marks += 1
            if token.text == "-" and marks % 2 and self._peek().kind in ("int", "float"):
                return self._member(self._number(self._take(), negative=True))
            if token.text == "-" and self._peek().name not in OPERANDS:
                raise all_of([self._no_way_on(token), self._unexpected(*OPERANDS)])
            operand = self._member(self._primary())
            return Call(token.at, _NAMES[token.text], (operand,)) if marks % 2 else operand
        return self._member(self._primary())

    def _member(self, left: Expr) -> Expr:
        length = 0
        while True:
            if self._is("."):
                left = self._dot(left)
            elif self._is("["):
                at = self._take().at
                name = "_[?_]" if self._skip("?") else "_[_]"
                self._open("]")
                left = Call(at, name, (left, self._expression()))
                self._close("]")
            elif self._is("{") and (name := _qualified(left)):
                left = self._message(name)
            else:
                return left
            length += 1
            if length > CHAIN_MAX:
                raise CompileError(self._text, left.at, "Syntax error: expression recursion limit exceeded")

    def _dot(self, left: Expr) -> Expr:
        dot = self._take(".")
        at = dot.at
        is_optional = self._skip("?")
        token = self._peek()
        if token.kind not in ("ident", "quoted"):
            raise self._no_way_on(dot)
        name = self._take().text.strip("`")
        if token.kind == "ident" and not is_optional and self._is("("):
            opened = self._take().at
            return self._macro_or_method(opened, left, name, self._arguments())
        return Select(at, left, name, is_optional)

    def _macro_or_method(self, at: int, target: Expr, name: str, arguments: tuple[Expr, ...]) -> Expr:
        if name == "bind" and isinstance(target, Ident) and target.name == "cel" and len(arguments) == 3:
            bound, value, body = arguments
            if not isinstance(bound, Ident):
                raise CompileError(self._text, bound.at, "cel.bind() variable names must be simple identifiers")
            return Fold(target.at, name, value, (bound.name,), (body,))
        counts = _FOLDS.get(name)
        if counts is None or len(arguments) not in counts:
            return Call(at, name, arguments, target)
        first, *rest = arguments
        if not isinstance(first, Ident):
            raise CompileError(self._text, first.at, "argument must be a simple name")
        two = name in _TWO_NAMES_ONLY or (len(rest) == 2 and name in ("all", "exists", "exists_one", "existsOne"))
        if not two:
            return Fold(at, name, target, (first.name,), tuple(rest))
        second, *parts = rest
        if not isinstance(second, Ident):
            raise CompileError(self._text, second.at, "argument must be a simple name")
        return Fold(at, name, target, (first.name, second.name), tuple(parts))

    def _primary(self) -> Expr:
        token = self._take()
        match token.kind:
            case "int" | "uint" | "float":
                return self._number(token)
            case "string" | "bytes":
                return Literal(token.at, token.value, token.kind)
            case "ident":
                return self._named(token)
            case "mark" if token.text == "(":
                self._closings.append((")",))
                found = self._expression()
                self._close(")")
                return found
            case "mark" if token.text == "[":
                return self._elements(token.at)
            case "mark" if token.text == "{":
                return self._entries(token.at)
            case "mark" if token.text == "." and self._peek().kind == "ident":
                return self._named(self._take())
        self._next -= 1
        also = self._also if self._also_at == self._next else ()
        raise self._unexpected(*OPERANDS, *also)

    def _named(self, token: Token) -> Expr:
        match token.text:
            case "true" | "false":
                return Literal(token.at, token.text == "true", "bool")
            case "null":
                return Literal(token.at, None, "null_type")
        if token.text in _RESERVED:
            raise CompileError(self._text, token.at, f"reserved identifier: {token.text}")
        if not self._is("("):
            return Ident(token.at, token.text)
        opened = self._take().at
        arguments = self._arguments()
        if token.text == "has" and len(arguments) == 1:
            (argument,) = arguments
            if not isinstance(argument, Select):
                raise CompileError(self._text, opened, "invalid argument to has() macro")
            return Has(opened, argument.operand, argument.field)
        return Call(opened, token.text, arguments)

    def _number(self, token: Token, *, negative: bool = False) -> Literal:
        sign = -1 if negative else 1
        if token.kind == "float":
            if math.isinf(float(token.text)):
                raise CompileError(self._text, token.at, "invalid double literal")
            return Literal(token.at, sign * float(token.text), "double")
        digits = token.text.rstrip("uU") if token.kind == "uint" else token.text
        value = sign * int(digits, 16 if digits[:2].lower() == "0x" else 10)
        fits = value < 2**64 if token.kind == "uint" else -_INT64_MAX - 1 <= value <= _INT64_MAX
        if not fits:
            raise CompileError(self._text, token.at, f"invalid {token.kind} literal")
        return Literal(token.at, value, token.kind)

    def _arguments(self) -> tuple[Expr, ...]:
        """Those of a call; the opening bracket is taken already. No comma stands after the last one."""
        self._open(")")
        self._closings[-1] = (")", ",")
        found: list[Expr] = []
        if not self._is(")"):
            found.append(self._expression())
            while self._skip(","):
                found.append(self._expression())
        self._close(")")
        return tuple(found)

    def _elements(self, at: int) -> Expr:
        found: list[Expr] = []
        optional: set[int] = set()
        self._open("]", ",", "?")
        while not self._is("]"):
            if self._skip("?"):
                optional.add(len(found))
            found.append(self._expression())
            if not self._skip(","):
                break
        self._close("]", ",")
        return Elements(at, tuple(found), frozenset(optional))

    def _entries(self, at: int) -> Expr:
        found: list[tuple[Expr, Expr]] = []
        optional: set[int] = set()
        self._open("}", ",", "?")
        while not self._is("}"):
            if self._skip("?"):
                optional.add(len(found))
            key = self._expression()
            self._take(":")
            found.append((key, self._expression()))
            if not self._skip(","):
                break
        self._close("}", ",")
        return Entries(at, tuple(found), frozenset(optional))

    def _message(self, name: str) -> Expr:
        at = self._take("{").at
        found: list[tuple[str, Expr]] = []
        optional: set[int] = set()
        self._open("}", ",", "?")
        while not self._is("}"):
            if self._skip("?"):
                optional.add(len(found))
            if self._peek().kind not in ("ident", "quoted"):
                raise self._unexpected("}", ",", "?", "IDENTIFIER", "ESC_IDENTIFIER")
            field = self._take().text.strip("`")
            self._take(":")
            found.append((field, self._expression()))
            if not self._skip(","):
                break
        self._close("}", ",")
        return Message(at, name, tuple(found), frozenset(optional))


def _qualified(node: Expr) -> str:
    """`a.b.c` for a chain of names, empty for anything else: only after such may braces make an object."""
    match node:
        case Ident():
            return node.name
        case Select(is_optional=False) if before := _qualified(node.operand):
            return f"{before}.{node.field}"
    return ""
