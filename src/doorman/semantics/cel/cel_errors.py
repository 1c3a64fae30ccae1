"""What can go wrong with an expression: it does not compile, or it fails on what it was given."""

from collections.abc import Sequence
from typing import Final

NO_OVERLOAD: Final = "no such overload"
SHOWN_CHARS_MAX: Final = 16384
TOO_EXPENSIVE: Final = "operation cancelled: actual cost limit exceeded"


class CelError(Exception):
    """An expression that does not compile, or could not be evaluated on what it was given."""


class CostExceeded(CelError):
    """It would have taken too long. Unlike other errors this one is never absorbed by `&&`, `||` or a macro."""

    def __init__(self) -> None:
        super().__init__(TOO_EXPENSIVE)


class CompileError(CelError):
    """Where in the text, and why. Its words are the compiler's, with the line shown below."""

    def __init__(self, text: str, at: int, why: str) -> None:
        line = text.count("\n", 0, at) + 1
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        shown = text[start : end if end >= 0 else len(text)]
        column = at - start
        marker = "." * column + "^"
        place = f"\n | {shown}\n | {marker}" if len(shown) <= SHOWN_CHARS_MAX else ""
        if not text:
            column, place = -1, ""  # in no text there is no place to point at
        super().__init__(f"ERROR: <input>:{line}:{column + 1}: {why}{place}")
        self.why = why
        self.at = at


class CompileErrors(CompileError):
    """Several at once, in the order of the text."""

    def __init__(self, faults: Sequence[CompileError]) -> None:
        CelError.__init__(self, "\n".join(map(str, faults)))
        self.why = faults[0].why
        self.at = faults[0].at


def all_of(faults: Sequence[CompileError]) -> CompileError:
    """One of them, or all in one."""
    return CompileErrors(sorted(faults, key=lambda fault: fault.at)) if len(faults) > 1 else faults[0]


def no_overload() -> CelError:
    return CelError(NO_OVERLOAD)
