"""service-cidr-controller: a range of service addresses is ready, and stays for as long as its addresses are used.

It reads ServiceCIDRs and IPAddresses.

1. A range has a finalizer and the condition Ready.
2. One that is being deleted goes when another range holds all of it, or none of its addresses is used that no other
   range holds; and not before ten seconds have passed, so that addresses given out meanwhile are seen.
3. Until then it says that it is not ready, because it is going.

Keys: ranges.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network
from typing import Final

from doorman.api.views.meta import Condition
from doorman.api.views.services import IpAddress, ServiceCidr
from doorman.api.well_known import SERVICE_CIDRS
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.client.actions import Patch, PatchType
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.semantics.addresses import Network, address_or_none, network_or_none
from doorman.semantics.service_addresses import MANAGED_BY, MANAGER
from doorman.semantics.service_addresses import RESOURCE as ADDRESSES

NAME: Final = "service-cidr-controller"
FINALIZER: Final = "networking.k8s.io/service-cidr-finalizer"
GRACE_SECONDS: Final = 10.0
WORKERS: Final = 5
_READY: Final = "Kubernetes Service CIDR is ready"
_USED: Final = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"


def range_keys(change: ObjectChange) -> Iterable[str]:
    found: ServiceCidr = change.newest
    return (found.metadata.name,)


def decide_condition(found: ServiceCidr, *, is_used: bool, now: Instant) -> Condition | None:
    """What is to be said of a range; None when that is said already."""
    status, reason, message = ("False", "Terminating", _USED) if is_used else ("True", "", _READY)
    before = found.status.condition("Ready")
    if before is not None and (before.status, before.reason, before.message) == (status, reason, message):
        return None
    return Condition(type="Ready", status=status, reason=reason, message=message, last_transition_time=to_time(now))


def is_needed(found: ServiceCidr, ranges: Sequence[ServiceCidr], used: Iterable[str]) -> bool:
    """Rule 2."""
    others = [cidr for one in ranges if one is not found for cidr in _networks(one)]
    own = _networks(found)
    if all(any(_holds(other, cidr) for other in others) for cidr in own):
        return False
    for address in map(address_or_none, used):
        if address is None:
            continue
        if any(address in cidr for cidr in own) and not any(address in other for other in others):
            return True
    return False


class ServiceRangeController:
    name = NAME
    workers = WORKERS

    def __init__(self, ranges: ListerOf[ServiceCidr], addresses: ListerOf[IpAddress]) -> None:
        self._ranges = ranges
        self._addresses = addresses
        self.sources = (Source(SERVICE_CIDRS, range_keys), Source(ADDRESSES, self._keys_of_address))

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        found = self._ranges.get(key)
        if found is None:
            return DONE
        meta = found.metadata
        if not meta.deletion_timestamp:
            held = () if FINALIZER in meta.finalizers else (_finalizers(key, [*meta.finalizers, FINALIZER]),)
            return Result(actions=(*held, *self._said(found, is_used=False, now=now)))
        if is_needed(found, self._ranges.list(), self._used()):
            return Result(actions=self._said(found, is_used=True, now=now))
        if now < (ends := from_time(meta.deletion_timestamp) + GRACE_SECONDS):
            return Result(wakes=((key, ends),))
        if FINALIZER not in meta.finalizers:
            return DONE
        return Result(actions=(_finalizers(key, [one for one in meta.finalizers if one != FINALIZER]),))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """It is looked at again when it or an address changes."""
        return

    def _keys_of_address(self, change: ObjectChange) -> Iterable[str]:
        """An address that has gone may let a range go."""
        if change.new is not None:
            return ()
        return tuple(one.metadata.name for one in self._ranges.list() if one.metadata.deletion_timestamp)

    def _used(self) -> Iterable[str]:
        return (one.metadata.name for one in self._addresses.list() if one.metadata.labels.get(MANAGED_BY) == MANAGER)

    def _said(self, found: ServiceCidr, *, is_used: bool, now: Instant) -> Sequence[Patch]:
        condition = decide_condition(found, is_used=is_used, now=now)
        if condition is None:
            return ()
        said = {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": condition.last_transition_time,
        }
        body = {"status": {"conditions": [said]}}
        return (Patch(resource=SERVICE_CIDRS, name=found.metadata.name, subresource="status", body=body),)


def _networks(found: ServiceCidr) -> list[Network]:
    """Without what is no range: whatever is stored, nobody fails on it."""
    return [network for cidr in found.spec.cidrs if (network := network_or_none(cidr)) is not None]


def _holds(outer: Network, inner: Network) -> bool:
    if isinstance(outer, IPv4Network):
        return isinstance(inner, IPv4Network) and inner.subnet_of(outer)
    return not isinstance(inner, IPv4Network) and inner.subnet_of(outer)


def _finalizers(name: str, wanted: list[str]) -> Patch:
    return Patch(resource=SERVICE_CIDRS, name=name, body={"metadata": {"finalizers": wanted}}, type=PatchType.MERGE)
