"""Who is asking."""

from collections.abc import Mapping
from typing import Final

import msgspec

MASTERS: Final = "system:masters"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"


class User(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


ANONYMOUS: Final = User(name="system:anonymous", groups=(UNAUTHENTICATED,))
ADMIN: Final = User(name="admin", groups=(MASTERS, AUTHENTICATED))
