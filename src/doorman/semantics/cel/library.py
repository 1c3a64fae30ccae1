"""Every function and method an expression may call, by name."""

from typing import Final

from doorman.semantics.cel import (
    library_amounts,
    library_authorizer,
    library_formats,
    library_lists,
    library_network,
    library_standard,
    library_strings,
)
from doorman.semantics.cel.function import Table, merged

FUNCTIONS: Final[Table] = merged(
    (
        library_standard.FUNCTIONS,
        library_strings.FUNCTIONS,
        library_lists.FUNCTIONS,
        library_network.FUNCTIONS,
        library_amounts.FUNCTIONS,
        library_formats.FUNCTIONS,
    )
)

METHODS: Final[Table] = merged(
    (
        library_standard.METHODS,
        library_strings.METHODS,
        library_lists.METHODS,
        library_network.METHODS,
        library_amounts.METHODS,
        library_formats.METHODS,
        library_authorizer.METHODS,
    )
)

TYPE_NAMES: Final = frozenset(
    {"bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "optional_type"}
)
