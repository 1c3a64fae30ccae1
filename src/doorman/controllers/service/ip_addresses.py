"""ipallocator: an IPAddress for every address that a service has.

The API server does this in Kubernetes. It reads services and the IPAddresses there are.

1. Each address of a service has an IPAddress of its name that says whose it is.
2. One whose service is gone, or has the address no longer, goes if it was made here. Others' are left alone.

Keys: addresses.
"""

from collections.abc import Iterable
from typing import Any, Final

from doorman.api.views.meta import Object
from doorman.api.views.services import IpAddress, Service, addresses_of
from doorman.base.clock import Instant
from doorman.client.actions import Create, Delete
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "ipallocator"
RESOURCE: Final = "ipaddresses.networking.k8s.io"
BY_ADDRESS: Final = "address"
"""The index of services that the controller needs."""
FAMILY: Final = "ipaddress.kubernetes.io/ip-family"
MANAGED_BY: Final = "ipaddress.kubernetes.io/managed-by"
MANAGER: Final = "ipallocator.k8s.io"
WORKERS: Final = 4


def service_keys(change: ObjectChange) -> Iterable[str]:
    before = addresses_of(change.old) if change.old is not None else ()
    after = addresses_of(change.new) if change.new is not None else ()
    return () if before == after else dict.fromkeys((*before, *after))


def address_keys(change: ObjectChange) -> Iterable[str]:
    found: Object = change.newest
    return (found.metadata.name,)


def decide_address(address: str, service: Service) -> dict[str, Any]:  # a manifest
    meta = service.metadata
    return {
        "metadata": {"name": address, "labels": {FAMILY: "IPv6" if ":" in address else "IPv4", MANAGED_BY: MANAGER}},
        "spec": {"parentRef": {"resource": "services", "namespace": meta.namespace, "name": meta.name}},
    }


class ServiceAddressController:
    name = NAME
    sources = (Source("services", service_keys), Source(RESOURCE, address_keys))
    workers = WORKERS

    def __init__(self, services: ListerOf[Service], addresses: ListerOf[IpAddress]) -> None:
        self._services = services
        self._addresses = addresses

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        existing = self._addresses.get(key)
        service = next(iter(self._services.by(BY_ADDRESS, key)), None)
        if existing is None:
            if service is None:
                return DONE
            return Result(actions=(Create(resource=RESOURCE, body=decide_address(key, service)),))
        parent = existing.spec.parent_ref
        if service is not None and (parent.namespace, parent.name) == (
            service.metadata.namespace,
            service.metadata.name,
        ):
            return DONE
        if existing.metadata.labels.get(MANAGED_BY) != MANAGER:
            return DONE
        # When it is gone it is made anew for whoever has the address now.
        return Result(actions=(Delete(resource=RESOURCE, name=key, uid=existing.metadata.uid),))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """It is looked at again when it or a service changes."""
        return
