"""Warnings as headers: each text once, and all together only so long that clients take them."""

from collections.abc import Iterable

from doorman.base.bounds import WARNING_CHARACTERS_MAX, WARNINGS_CHARACTERS_MAX


def warning_headers(warnings: Iterable[str]) -> list[tuple[str, str]]:
    """
    >>> warning_headers(["a", "b", "a"])
    [('Warning', '299 - "a"'), ('Warning', '299 - "b"')]
    """
    return [("Warning", f'299 - "{_escaped(text)}"') for text in truncated(warnings)]


def truncated(warnings: Iterable[str]) -> list[str]:
    """What fits is said as it is. Where all are too long together each is cut, and no more are said than
    come to the limit.
    """
    texts = list(dict.fromkeys(filter(None, warnings)))
    if sum(map(len, texts)) <= WARNINGS_CHARACTERS_MAX:
        return texts
    said: list[str] = []
    within, written, is_cut = 0, 0, False
    for text in texts:
        within += len(text)
        if within > WARNINGS_CHARACTERS_MAX and not is_cut:
            # From here on, and for what was said before.
            is_cut = True
            said = [each[:WARNING_CHARACTERS_MAX] for each in said]
            written = sum(map(len, said))
        elif is_cut and written >= WARNINGS_CHARACTERS_MAX:
            break
        said.append(text[:WARNING_CHARACTERS_MAX] if is_cut else text)
        written += len(said[-1])
    return said


def _escaped(text: str) -> str:
    clean = "".join(c for c in text if c.isprintable())
    return clean.replace("\\", "\\\\").replace('"', '\\"')
