"""The scheme: which kinds there are, and of which types they are made. Kinds may be added while it runs."""

import msgspec

from doorman.api.kinds import Kinds, builtin_kinds, type_table
from doorman.api.machinery.schema import Schema


class Scheme(msgspec.Struct, frozen=True):
    kinds: Kinds
    schema: Schema


def builtin_scheme() -> Scheme:
    """A new one: what is added to it is added to no other."""
    return Scheme(Kinds(builtin_kinds().rows), Schema(type_table()))
