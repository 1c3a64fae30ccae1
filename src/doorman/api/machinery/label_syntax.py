"""The syntax of label keys and values, in the API's words, for the selector grammar.

Each function gives the errors, empty when the text is well formed. Lengths are in bytes.
"""

import re
from functools import lru_cache
from typing import Final

_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME_RE: Final = re.compile(_NAME)
_VALUE_RE: Final = re.compile(f"({_NAME})?")
_SUBDOMAIN_RE: Final = re.compile(_SUBDOMAIN)

_NAME_BYTES_MAX: Final = 63
_PREFIX_BYTES_MAX: Final = 253

_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'({_NAME})?')"
)
_PREFIX_RULE: Final = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_SUBDOMAIN}')"
)


@lru_cache(maxsize=4096)
def label_key_faults(key: str) -> tuple[str, ...]:
    """
    >>> label_key_faults("example.com/gpu"), label_key_faults("/gpu")
    ((), ('prefix part must be non-empty',))
    """
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return (
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    faults = _prefix_faults(prefix) if slash else []
    if not name:
        faults.append("name part must be non-empty")
    elif len(name.encode()) > _NAME_BYTES_MAX:
        faults.append(f"name part must be no more than {_NAME_BYTES_MAX} bytes")
    if _NAME_RE.fullmatch(name) is None:
        faults.append(f"name part {_NAME_RULE}")
    return tuple(faults)


@lru_cache(maxsize=4096)
def label_value_faults(value: str) -> tuple[str, ...]:
    """
    >>> label_value_faults("a.b_c-d"), label_value_faults("")
    ((), ())
    """
    faults = []
    if len(value.encode()) > _NAME_BYTES_MAX:
        faults.append(f"must be no more than {_NAME_BYTES_MAX} bytes")
    if _VALUE_RE.fullmatch(value) is None:
        faults.append(_VALUE_RULE)
    return tuple(faults)


def _prefix_faults(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    faults = []
    if len(prefix.encode()) > _PREFIX_BYTES_MAX:
        faults.append(f"prefix part must be no more than {_PREFIX_BYTES_MAX} bytes")
    if _SUBDOMAIN_RE.fullmatch(prefix) is None:
        faults.append(_PREFIX_RULE)
    return faults
