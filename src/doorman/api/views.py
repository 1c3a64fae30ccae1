"""Which view shows which kind; kinds not named here are shown by their metadata alone."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.leases import Lease
from doorman.api.nodes import Node
from doorman.api.pods import Pod

VIEWS: Final[Mapping[str, type[Any]]] = {
    "pods": Pod,
    "nodes": Node,
    "leases.coordination.k8s.io": Lease,
}
"""By storage."""
