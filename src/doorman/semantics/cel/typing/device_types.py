"""What an expression that selects devices may speak of: `device`, and what is known of its members.

| member | type |
|---|---|
| `device.driver` | string |
| `device.allowMultipleAllocations` | bool |
| `device.attributes[domain].name` | bool, int, string or version: known when it runs |
| `device.capacity[domain].name` | quantity |
"""

from collections.abc import Mapping
from typing import Final

from doorman.semantics.cel.cost.declared_sizes import Declared
from doorman.semantics.cel.typing.static_types import ANY, BIND, BOOL, STRING, Type

DEVICE: Final = "kubernetes.DRADevice"
QUANTITY: Final = Type("kubernetes.Quantity")

NAMES: Final[Mapping[str, Type]] = {"device": Type("map", schema=DEVICE), BIND: BOOL}
_FIELDS: Final[Mapping[str, Type]] = {
    "driver": STRING,
    "allowMultipleAllocations": BOOL,
    "attributes": Type("map", of=Type("map", of=ANY)),
    "capacity": Type("map", of=Type("map", of=QUANTITY)),
}


def fields(_schema: str, field: str) -> Type | None:
    return _FIELDS.get(field)


ATTRIBUTES_MAX: Final = 32
DOMAIN_CHARS_MAX: Final = 63
IDENTIFIER_CHARS_MAX: Final = 32
VALUE_CHARS_MAX: Final = 64
_DOMAIN: Final = Declared(most=DOMAIN_CHARS_MAX)
_IDENTIFIER: Final = Declared(most=IDENTIFIER_CHARS_MAX)


def _by_domain(item: Declared, *, is_known: bool) -> Declared:
    """Maps of maps: what is in them by domain and name."""
    inner = Declared(most=ATTRIBUTES_MAX, item=item, key=_IDENTIFIER, item_by_name=is_known)
    return Declared(most=ATTRIBUTES_MAX, item=inner, key=_DOMAIN)


SIZES: Final[Mapping[str, Declared]] = {
    "device": Declared(
        fields={
            "driver": Declared(most=DOMAIN_CHARS_MAX),
            "allowMultipleAllocations": Declared(most=1),
            "attributes": _by_domain(Declared(most=VALUE_CHARS_MAX), is_known=True),
            "capacity": _by_domain(Declared(), is_known=False),
        }
    )
}
"""How large it all can be, by the name of a variable."""
