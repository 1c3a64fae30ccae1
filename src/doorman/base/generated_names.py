"""Names and ids that nobody chose: uids, generated name suffixes. Drawn from one stream, so a seed repeats them."""

import random
from typing import Final

SAFE_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no digits that look like one, so that no word comes about."""

SUFFIX_LENGTH: Final = 5
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

    def suffix(self, length: int = SUFFIX_LENGTH) -> str:
        return "".join(self._stream.choices(SAFE_ALPHABET, k=length))

    def generate(self, base: str) -> str:
        """A name for `generateName`."""
        return base[:GENERATED_BASE_MAX] + self.suffix()
