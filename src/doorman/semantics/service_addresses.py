"""What an IPAddress says that is claimed for a service."""

from typing import Any, Final

RESOURCE: Final = "ipaddresses.networking.k8s.io"
FAMILY: Final = "ipaddress.kubernetes.io/ip-family"
MANAGED_BY: Final = "ipaddress.kubernetes.io/managed-by"
MANAGER: Final = "ipallocator.k8s.io"
ORPHAN_SECONDS: Final = 60.0
"""So long a claimed address may be there before its service is: no request takes longer."""


def address_manifest(address: str, namespace: str, name: str) -> dict[str, Any]:  # a manifest
    """
    >>> address_manifest("10.96.0.7", "ns", "web")["spec"]
    {'parentRef': {'resource': 'services', 'namespace': 'ns', 'name': 'web'}}
    """
    return {
        "metadata": {"name": address, "labels": {FAMILY: "IPv6" if ":" in address else "IPv4", MANAGED_BY: MANAGER}},
        "spec": {"parentRef": {"resource": "services", "namespace": namespace, "name": name}},
    }
