"""Kubernetes' own formats of text, and the escaping of JSON pointers."""

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import msgspec

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.library.network import FUNCTIONS as NETWORK
from doorman.semantics.cel.overloads import Table, table
from doorman.semantics.cel.value_text import parse_timestamp
from doorman.semantics.cel.values import NONE, Optional
from doorman.semantics.name_syntax import (
    dns_1035_faults,
    dns_label_faults,
    label_value_faults,
    qualified_name_faults,
    subdomain_faults,
)

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

FormatFaults = Callable[[str], Sequence[str]]


class Format(msgspec.Struct, frozen=True):
    name: str
    cel_type: ClassVar[str] = "kubernetes.NamedFormat"


def _uri_faults(text: str) -> list[str]:
    return [] if NETWORK["isURL"][0].apply(CostBudget(), text) else ["invalid URI"]


def _uuid_faults(text: str) -> list[str]:
    return [] if _UUID.fullmatch(text) else ["does not match the UUID format"]


def _byte_faults(text: str) -> list[str]:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ["invalid base64"]
    return []


def _date_faults(text: str) -> list[str]:
    return _time_faults(f"{text}T00:00:00Z") if _DATE.fullmatch(text) else ["invalid date"]


def _time_faults(text: str) -> list[str]:
    try:
        parse_timestamp(text)
    except CelError as error:
        return [str(error)]
    return []


def _of_stem(faults: FormatFaults) -> FormatFaults:
    """A prefix is checked as if a letter followed its last hyphen."""

    def found(text: str) -> Sequence[str]:
        return faults(text[:-1] + "a" if text.endswith("-") else text)

    return found


_FORMATS: Final[dict[str, FormatFaults]] = {
    "dns1123Label": dns_label_faults,
    "dns1123LabelPrefix": _of_stem(dns_label_faults),
    "dns1123Subdomain": subdomain_faults,
    "dns1123SubdomainPrefix": _of_stem(subdomain_faults),
    "dns1035Label": dns_1035_faults,
    "dns1035LabelPrefix": _of_stem(dns_1035_faults),
    "qualifiedName": qualified_name_faults,
    "labelValue": label_value_faults,
    "uri": _uri_faults,
    "uuid": _uuid_faults,
    "byte": _byte_faults,
    "date": _date_faults,
    "datetime": _time_faults,
}


def _named(_meter: CostBudget, name: str) -> Optional:
    return Optional((Format(name),)) if name in _FORMATS else NONE


def _validated(meter: CostBudget, found: Format, text: str) -> Optional:
    meter.charge_size(len(text))
    faults = list(_FORMATS[found.name](text))
    return Optional((faults,)) if faults else NONE


def _constant(name: str) -> Callable[[CostBudget], Format]:
    return lambda _meter: Format(name)


FUNCTIONS: Final[Table] = table(
    *((f"format.{name}", (), Format.cel_type, _constant(name)) for name in _FORMATS),
    ("format.named", ("string",), "optional_type", _named),
    (
        "jsonpatch.escapeKey",
        ("string",),
        "string",
        lambda _meter, text: text.replace("~", "~0").replace("/", "~1"),
    ),
)

METHODS: Final[Table] = table(("validate", (Format.cel_type, "string"), "optional_type", _validated))
