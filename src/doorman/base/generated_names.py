"""Names and ids that nobody chose: uids, generated name suffixes. Drawn from one stream, so a seed repeats them."""

import random
from itertools import product
from typing import Final

SAFE_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no digits that look like one, so that no word comes about."""

_PAIRS: Final = tuple(map("".join, product(SAFE_ALPHABET, repeat=2)))
_SUFFIXES: Final = len(SAFE_ALPHABET) ** 5
"""So many there are, of five letters."""

GENERATED_BASE_MAX: Final = 58

_VERSION_4: Final = (0x4 << 76) | (0x2 << 62)
_RANDOM_BITS: Final = ~((0xF << 76) | (0x3 << 62))
"""Of a UUID of version 4: all but version and variant."""


class NameGenerator:
    """
    >>> NameGenerator(random.Random(7)).generate("web-") == NameGenerator(random.Random(7)).generate("web-")
    True
    """

    def __init__(self, stream: random.Random) -> None:
        self._stream = stream

    def uid(self) -> str:
        """A version 4 UUID."""
        text = f"{self._stream.getrandbits(128) & _RANDOM_BITS | _VERSION_4:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def suffix(self) -> str:
        """Every pod has one: it is drawn at once, and spelt by pairs."""
        rest, last = divmod(int(self._stream.random() * _SUFFIXES), len(SAFE_ALPHABET))
        first, second = divmod(rest, len(_PAIRS))
        return _PAIRS[first] + _PAIRS[second] + SAFE_ALPHABET[last]

    def generate(self, base: str) -> str:
        """A name for `generateName`."""
        return base[:GENERATED_BASE_MAX] + self.suffix()
