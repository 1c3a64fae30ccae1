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

from doorman.semantics.cel.static_types import BOOL, DYN, STRING, Type

DEVICE: Final = "kubernetes.DRADevice"
QUANTITY: Final = Type("kubernetes.Quantity")

NAMES: Final[Mapping[str, Type]] = {"device": Type("map", schema=DEVICE)}
_FIELDS: Final[Mapping[str, Type]] = {
    "driver": STRING,
    "allowMultipleAllocations": BOOL,
    "attributes": Type("map", of=Type("map", of=DYN)),
    "capacity": Type("map", of=Type("map", of=QUANTITY)),
}


def fields(_schema: str, field: str) -> Type | None:
    return _FIELDS.get(field)
