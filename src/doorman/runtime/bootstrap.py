"""What every cluster has from the start: namespaces, priority classes, the API's own service, default roles."""

from typing import Any, Final

from doorman.api.schema import Document
from doorman.base.errors import ApiError
from doorman.client.actions import Create
from doorman.client.client import Client
from doorman.runtime.credentials import SERVICE_ADDRESS

NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
PRIORITY_CLASSES: Final = (
    ("system-node-critical", 2000001000),
    ("system-cluster-critical", 2000000000),
)


async def bootstrap(client: Client, *, port: int, ca_certificate: bytes) -> None:
    """Create what is missing; what is there is left as it is."""
    for name in NAMESPACES:
        await _ensure(client, "namespaces", "", {"metadata": {"name": name}})
    for name, value in PRIORITY_CLASSES:
        body: Document = {
            "metadata": {"name": name},
            "value": value,
            "description": "Reserved for pods the cluster itself depends on.",
        }
        await _ensure(client, "priorityclasses.scheduling.k8s.io", "", body)
    await _ensure(client, "services", "default", _api_service(port))
    authentication = {"client-ca-file": ca_certificate.decode()}
    config: Document = {"metadata": {"name": "extension-apiserver-authentication"}, "data": authentication}
    await _ensure(client, "configmaps", "kube-system", config)


def _api_service(port: int) -> Document:
    return {
        "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": SERVICE_ADDRESS,
            "clusterIPs": [SERVICE_ADDRESS],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        },
    }


async def _ensure(client: Client, resource: str, namespace: str, body: dict[str, Any]) -> None:  # a manifest
    try:
        await client.create(Create(resource=resource, namespace=namespace, body=body))
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
