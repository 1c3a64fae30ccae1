"""The syntaxes of names: label keys and values, DNS names, path segments, with the API's exact errors.

Each function gives the list of errors, empty when the text is well formed. Lengths are in bytes.
"""

import re
from ipaddress import ip_interface
from typing import Final

from doorman.api.machinery import label_syntax as label_names
from doorman.api.machinery.label_syntax import label_key_faults

DNS_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
_DNS_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_PORT_FORM: Final = "[-a-z0-9]+"
_PERCENT_FORM: Final = "[0-9]+%"
_CONFIG_KEY_FORM: Final = "[-._a-zA-Z0-9]+"

_SERVICE_LABEL: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SERVICE_DOMAIN: Final = rf"{_SERVICE_LABEL}(\.{_SERVICE_LABEL})*"
_SERVICE_DOMAIN_RE: Final = re.compile(_SERVICE_DOMAIN)
_SUBDOMAIN_RE: Final = re.compile(_SUBDOMAIN)
_LABEL_RE: Final = re.compile(DNS_LABEL)
_DNS_1035_RE: Final = re.compile(_DNS_1035)

SUBDOMAIN_BYTES_MAX: Final = 253
LABEL_BYTES_MAX: Final = 63

_REMEMBERED_CHARS_MAX: Final = SUBDOMAIN_BYTES_MAX + 1 + LABEL_BYTES_MAX
"""Label keys recur by the thousand and are remembered, but nothing longer than a well-formed one."""

SUBDOMAIN_FAULT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
SERVICE_DOMAIN_FAULT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_SERVICE_DOMAIN}')"
)
DNS_LABEL_FAULT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{DNS_LABEL}')"
)
DNS_1035_FAULT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_DNS_1035}')"
)
LABEL_VALUE_FAULT: Final = label_names.label_value_faults("-")[0]
PERCENT_FAULT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    f"validation is '{_PERCENT_FORM}')"
)
CONFIG_KEY_FAULT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    f"'key-name', regex used for validation is '{_CONFIG_KEY_FORM}')"
)
CIDR_FAULT: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_CONFIG_KEY_RE: Final = re.compile(_CONFIG_KEY_FORM)
_PERCENT_RE: Final = re.compile(_PERCENT_FORM)
_PORT_RE: Final = re.compile(_PORT_FORM)


def max_length_fault(bytes_max: int) -> str:
    """Bytes are counted, but upstream calls them characters here (and bytes where labels are concerned)."""
    return f"must be no more than {bytes_max} characters"


def qualified_name_faults(text: str) -> tuple[str, ...]:
    """A label key: a name, or `prefix/name` where the prefix is a DNS subdomain.

    >>> qualified_name_faults("example.com/gpu")
    ()
    >>> qualified_name_faults("/gpu")
    ('prefix part must be non-empty',)
    """
    return label_key_faults(text) if len(text) <= _REMEMBERED_CHARS_MAX else label_key_faults.__wrapped__(text)


def label_value_faults(text: str) -> tuple[str, ...]:
    """
    >>> label_value_faults("a.b_c-d"), label_value_faults("")
    ((), ())
    """
    if text.isascii() and text.isalnum() and len(text) <= LABEL_BYTES_MAX:
        return ()
    if len(text) <= _REMEMBERED_CHARS_MAX:
        return label_names.label_value_faults(text)
    return label_names.label_value_faults.__wrapped__(text)


def subdomain_faults(text: str) -> list[str]:
    """An RFC 1123 subdomain: the name of most kinds.

    >>> subdomain_faults("node-1.example.com")
    []
    """
    faults = []
    if _bytes(text) > SUBDOMAIN_BYTES_MAX:
        faults.append(max_length_fault(SUBDOMAIN_BYTES_MAX))
    if _SUBDOMAIN_RE.fullmatch(text) is None:
        faults.append(SUBDOMAIN_FAULT)
    return faults


def underscore_subdomain_faults(text: str) -> list[str]:
    """A subdomain as DNS records of services have it: `_sip._tcp.example.com`."""
    faults = []
    if _bytes(text) > SUBDOMAIN_BYTES_MAX:
        faults.append(max_length_fault(SUBDOMAIN_BYTES_MAX))
    if _SERVICE_DOMAIN_RE.fullmatch(text) is None:
        faults.append(SERVICE_DOMAIN_FAULT)
    return faults


def dns_label_faults(text: str) -> list[str]:
    """An RFC 1123 label: the name of a namespace or a container."""
    faults = []
    if _bytes(text) > LABEL_BYTES_MAX:
        faults.append(max_length_fault(LABEL_BYTES_MAX))
    if _LABEL_RE.fullmatch(text) is None:
        faults.append(DNS_LABEL_FAULT if _SUBDOMAIN_RE.fullmatch(text) is None else "must not contain dots")
    return faults


def dns_1035_faults(text: str) -> list[str]:
    faults = []
    if _bytes(text) > LABEL_BYTES_MAX:
        faults.append(max_length_fault(LABEL_BYTES_MAX))
    if _DNS_1035_RE.fullmatch(text) is None:
        faults.append(DNS_1035_FAULT)
    return faults


def path_segment_faults(text: str) -> list[str]:
    """What may stand between two slashes of a URL: the name of a role.

    >>> path_segment_faults("system:node"), path_segment_faults("..")
    ([], ["may not be '..'"])
    """
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{mark}'" for mark in ("/", "%") if mark in text]


def config_key_faults(text: str) -> list[str]:
    """A key of a ConfigMap or a Secret."""
    faults = []
    if _bytes(text) > SUBDOMAIN_BYTES_MAX:
        faults.append(max_length_fault(SUBDOMAIN_BYTES_MAX))
    if _CONFIG_KEY_RE.fullmatch(text) is None:
        faults.append(CONFIG_KEY_FAULT)
    elif text == ".":
        faults.append("must not be '.'")
    elif text == "..":
        faults.append("must not be '..'")
    elif text.startswith(".."):
        faults.append("must not start with '..'")
    return faults


def env_name_faults(text: str) -> list[str]:
    """The name of an environment variable: printable ASCII without `=`."""
    if not text:
        return ["environment variable name must be non-empty"]
    if all(" " <= char <= "~" and char != "=" for char in text):
        return []
    return [
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
    ]


def port_name_faults(text: str) -> list[str]:
    """The name of a port: at most 15 characters of a-z, 0-9 and single hyphens, with a letter somewhere."""
    faults = []
    if len(text) > 15:
        faults.append("must be no more than 15 characters")
    if _PORT_RE.fullmatch(text) is None:
        faults.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in text):
        faults.append("must contain at least one letter (a-z)")
    if "--" in text:
        faults.append("must not contain consecutive hyphens")
    if text and (text[0] == "-" or text[-1] == "-"):
        faults.append("must not begin or end with a hyphen")
    return faults


def percent_faults(text: str) -> list[str]:
    """
    >>> percent_faults("25%")
    []
    """
    return [] if _PERCENT_RE.fullmatch(text) else [PERCENT_FAULT]


def cidr_version_or_none(text: str) -> int | None:
    """4 or 6 for an address range, None for anything else.

    >>> cidr_version_or_none("10.0.0.0/24"), cidr_version_or_none("10.0.0.1")
    (4, None)
    """
    _, slash, prefix = text.partition("/")
    if not slash or not prefix.isascii() or not prefix.isdigit():
        return None
    try:
        return ip_interface(text).version
    except ValueError:
        return None


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
