"""ipallocator: an IPAddress for every address that a service has.

The API server does this in Kubernetes. It reads services and the IPAddresses there are.

1. Each address of a service has an IPAddress of its name that says whose it is.
2. One whose service is gone, or has the address no longer, goes if it was made here. Others' are left alone.
3. Where addresses are claimed before their service is written (several servers over one store), one without its service
   is left alone for as long as a request may take.

Keys: addresses.
"""

from collections.abc import Iterable
from typing import Any, Final

from doorman.api.views.meta import Object
from doorman.api.views.services import IpAddress, Service, addresses_of
from doorman.base.clock import Instant
from doorman.base.instants import from_time
from doorman.client.actions import Create, Delete
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.semantics.service_addresses import MANAGED_BY, MANAGER, RESOURCE, address_manifest

NAME: Final = "ipallocator"
BY_ADDRESS: Final = "address"
"""The index of services that the controller needs."""
WORKERS: Final = 4


def service_keys(change: ObjectChange) -> Iterable[str]:
    before = addresses_of(change.old) if change.old is not None else ()
    after = addresses_of(change.new) if change.new is not None else ()
    return () if before == after else dict.fromkeys((*before, *after))


def address_keys(change: ObjectChange) -> Iterable[str]:
    found: Object = change.newest
    return (found.metadata.name,)


def decide_address(address: str, service: Service) -> dict[str, Any]:  # a manifest
    return address_manifest(address, service.metadata.namespace, service.metadata.name)


def decide_orphans_end(address: IpAddress, orphan_seconds: float) -> Instant:
    """When an address without its service goes: at once where it does not say how old it is."""
    if not orphan_seconds:
        return 0.0
    try:
        return from_time(address.metadata.creation_timestamp) + orphan_seconds
    except ValueError:
        return 0.0


class ServiceAddressController:
    name = NAME
    sources = (Source("services", service_keys), Source(RESOURCE, address_keys))
    workers = WORKERS

    def __init__(
        self, services: ListerOf[Service], addresses: ListerOf[IpAddress], *, orphan_seconds: float = 0.0
    ) -> None:
        self._services = services
        self._addresses = addresses
        self._orphan_seconds = orphan_seconds

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
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
        if service is None and now < (ends := decide_orphans_end(existing, self._orphan_seconds)):
            return Result(wakes=((key, ends),))
        # When it is gone it is made anew for whoever has the address now.
        return Result(actions=(Delete(resource=RESOURCE, name=key, uid=existing.metadata.uid),))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """It is looked at again when it or a service changes."""
        return
