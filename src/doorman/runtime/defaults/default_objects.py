"""What every cluster has from the start: namespaces, priority classes, priority levels, the API's own service."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from doorman.api.json_values import copied
from doorman.api.kinds import data_file
from doorman.api.views.storage.volume_classes import DEFAULT_CLASS, WAIT_FOR_FIRST_CONSUMER
from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.client.actions import Create, Patch, PatchType
from doorman.client.client import Client
from doorman.semantics.service_ranges import API_SERVICE_ADDRESS, SERVICE_RANGE
from doorman.semantics.volumes.volume_drivers import SIMULATED_PROVISIONER
from doorman.store.store_contract import Failed

_log: Final = logging.getLogger("doorman.runtime")

NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
API_SERVICE: Final = "kubernetes"
SERVICE_TRIES_MAX: Final = 5
SERVICE_RETRY_SECONDS: Final = 0.2
WAIT_SECONDS: Final = 1.0
NO_SPACE: Final = "database space exceeded"
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "localhost": "127.0.0.1", "::": "::1"}
"""What to bind to in order to be reached anywhere, and one address that surely reaches it."""
PRIORITY_CLASSES: Final = (
    ("system-node-critical", 2000001000),
    ("system-cluster-critical", 2000000000),
)


Existing = Callable[[str, str, str], Document | None]
"""From a resource, a namespace and a name to what is stored."""


async def bootstrap(
    client: Client,
    existing: Existing,
    *,
    own_service: Mapping[str, Document],
    ca_certificate: bytes,
    is_alone: bool,
) -> None:
    """Create what is missing; what is there is left as it is, but for where the server is to be reached if there is
    only one. `own_service` is that of the API, by resource.
    """
    # Two groups, so that the disk is waited for twice: what comes second needs the namespaces.
    await asyncio.gather(*(_ensure(client, "namespaces", "", {"metadata": {"name": name}}) for name in NAMESPACES))
    authentication = {"client-ca-file": ca_certificate.decode()}
    config: Document = {"metadata": {"name": "extension-apiserver-authentication"}, "data": authentication}
    rest = [
        *(_ensure(client, "priorityclasses.scheduling.k8s.io", "", _class(*row)) for row in PRIORITY_CLASSES),
        _ensure(client, "servicecidrs.networking.k8s.io", "", _service_range()),
        _ensure(client, "configmaps", "kube-system", config),
        _publish(client, own_service, is_alone=is_alone),
        *(_ensure(client, resource, "", body) for resource, body in flow_control()),
    ]
    rest.append(_ensure_api_service(client, existing, own_service["services"]))
    await asyncio.gather(*rest)


async def _ensure_api_service(client: Client, existing: Existing, body: Document) -> None:
    """A second one would be refused for its address, not for its name; so would one that another server is about to
    write, which has claimed the address already.
    """
    for left in reversed(range(SERVICE_TRIES_MAX)):
        if existing("services", "default", API_SERVICE) is not None:
            return
        try:
            await client.create(Create(resource="services", namespace="default", body=copied(body)))
        except Failed:
            raise
        except ApiError as error:
            if error.reason != "Invalid" or not left:
                _tell(error, f"services {API_SERVICE}")
                return
            await asyncio.sleep(SERVICE_RETRY_SECONDS)
        else:
            return


def flow_control() -> list[tuple[str, Document]]:
    """The priority levels and flow schemas that Kubernetes suggests, or cannot do without."""
    found: Mapping[str, list[Document]] = data_file("flow_control.json")
    group = "flowcontrol.apiserver.k8s.io"
    return [(f"{resource}.{group}", body) for resource, bodies in found.items() for body in bodies]


def _class(name: str, value: int) -> Document:
    return {
        "metadata": {"name": name},
        "value": value,
        "description": "Reserved for pods the cluster itself depends on.",
    }


def api_service(address: str, port: int) -> Mapping[str, Document]:
    """The API's own service and where it leads, by resource."""
    reached = _EVERYWHERE.get(address, address)
    service: Document = {
        "metadata": {"name": API_SERVICE, "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": API_SERVICE_ADDRESS,
            "clusterIPs": [API_SERVICE_ADDRESS],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        },
    }
    return {"services": service, **api_endpoints([reached], port)}


def api_endpoints(addresses: Sequence[str], port: int) -> Mapping[str, Document]:
    """Where the API's own service leads, by resource."""
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    is_newer = bool(addresses) and all(":" in address for address in addresses)
    endpoints: Document = {
        "metadata": {"name": API_SERVICE, "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": address} for address in addresses], "ports": ports}] if addresses else [],
    }
    slice_: Document = {
        "metadata": {"name": API_SERVICE, "labels": {"kubernetes.io/service-name": API_SERVICE}},
        "addressType": "IPv6" if is_newer else "IPv4",
        "endpoints": [
            {"addresses": [address], "conditions": {"ready": True}}
            for address in addresses
            if (":" in address) == is_newer
        ],
        "ports": ports if addresses else [],
    }
    return {"endpoints": endpoints, "endpointslices.discovery.k8s.io": slice_}


def standard_class() -> Document:
    """The class of simulated volumes: the default where there are simulated nodes from the start."""
    return {
        "metadata": {"name": "standard", "annotations": {DEFAULT_CLASS: "true"}},
        "provisioner": SIMULATED_PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": WAIT_FOR_FIRST_CONSUMER,
        "allowVolumeExpansion": True,
    }


def _service_range() -> Document:
    return {"metadata": {"name": API_SERVICE}, "spec": {"cidrs": [str(SERVICE_RANGE)]}}


async def _publish(client: Client, manifests: Mapping[str, Document], *, is_alone: bool) -> None:
    """Say where the API's own service leads, as endpoints and as a slice. The port may be another than last time."""
    for resource, members in (
        ("endpoints", ("subsets",)),
        ("endpointslices.discovery.k8s.io", ("endpoints", "ports")),
    ):
        body = manifests.get(resource)
        if body is None:
            continue
        await _ensure(client, resource, "default", copied(body))
        if not is_alone:
            continue
        change = {member: body[member] for member in members}
        patch = Patch(resource=resource, namespace="default", name=API_SERVICE, body=change, type=PatchType.MERGE)
        await attempt(client.patch(patch), f"{resource} {API_SERVICE}")


async def _ensure(client: Client, resource: str, namespace: str, body: dict[str, Any]) -> None:  # a manifest
    create = Create(resource=resource, namespace=namespace, body=body)
    await attempt(client.create(create), f"{resource} {body['metadata']['name']}")


async def attempt(write: Awaitable[object], what: str) -> None:
    """A write without which a server can do: what is stored, or a policy in it, may be in the way, and it starts.
    Raises the refusal of a store that will take it later.
    """
    try:
        await write
    except Failed:
        raise
    except ApiError as error:
        if is_passing(error):
            raise
        _tell(error, what)


async def until_answered(work: Callable[[], Awaitable[None]]) -> None:
    """Again and again, while the store cannot be asked: an etcd that is away for a while would leave a cluster for good
    without what it begins with.
    """
    while True:
        try:
            await work()
        except ApiError as error:
            if not is_passing(error):
                raise
            _log.warning("waiting for the store: %s", error.message)
            await asyncio.sleep(WAIT_SECONDS)
        else:
            return


def is_passing(error: ApiError) -> bool:
    """Whether what was asked may be done later: nobody answered, there was too much to do, or etcd was full."""
    return error.code in (429, 504) or NO_SPACE in error.message


def _tell(error: ApiError, what: str) -> None:
    if error.reason != "AlreadyExists":
        _log.warning("%s is not as every cluster has it: %s", what, error)
