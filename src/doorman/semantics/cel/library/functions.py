"""Every function and method an expression may call, by name."""

from typing import Final

from doorman.semantics.cel.library import authorizer as library_authorizer
from doorman.semantics.cel.library import formats as library_formats
from doorman.semantics.cel.library import lists as library_lists
from doorman.semantics.cel.library import network as library_network
from doorman.semantics.cel.library import quantities as library_amounts
from doorman.semantics.cel.library import standard as library_standard
from doorman.semantics.cel.library import strings as library_strings
from doorman.semantics.cel.overloads import Table, merged

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
