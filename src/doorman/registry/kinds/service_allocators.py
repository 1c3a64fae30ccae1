"""Addresses and node ports of services: given out when a service is written, free again when it is gone.

What is taken is read from the services themselves, so it is right after a restart. A number is taken from the moment
somebody proposes to use it: two services that are on their way to the disk never get the same. Where other servers give
out numbers too, what is chosen here is then claimed (`service_claims`), and chosen again when somebody else has it.
"""

from collections.abc import Awaitable, Callable, Iterable
from collections.abc import Collection as Container
from ipaddress import IPv4Network
from typing import Any, Final

from doorman.api.json_values import copied
from doorman.api.well_known import SERVICE_CIDRS, SERVICES
from doorman.base.errors import FieldError, internal, invalid, invalid_object
from doorman.base.json_types import Document
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.streams import EventType, Stream, StreamEvent
from doorman.registry.commit import FollowUp
from doorman.registry.kinds.service_claims import Number, ServiceClaims
from doorman.registry.strategy import Assigned
from doorman.semantics.service_ranges import (
    HEADLESS,
    NODE_PORTS,
    SERVICE_RANGE,
    free_address,
    free_port,
    is_in_range,
    ranges_of,
)

RANGES: Final = SERVICE_CIDRS
_WITH_PORTS: Final = ("NodePort", "LoadBalancer")

_Spec = dict[str, Any]  # the spec of a service, changed in place


class ServiceAllocators:
    def __init__(self, services: Collection, ranges: Collection) -> None:
        self._owners: dict[Number, str] = {}
        """Who has a number, by uid."""
        self._numbers: dict[str, tuple[Number, ...]] = {}
        """What each stored service has."""
        self._services = services
        self._ranges = ranges
        self._claims: ServiceClaims | None = None
        self._catch_up: Callable[[], Awaitable[None]] | None = None
        self._stream = self._follow()

    def share(self, claims: ServiceClaims, catch_up: Callable[[], Awaitable[None]]) -> None:
        """Others give out numbers too."""
        self._claims = claims
        self._catch_up = catch_up

    async def assign(self, new: Document, old: Document | None, *, is_dry_run: bool) -> Assigned:
        """Nobody is waited for where nobody else gives out numbers."""
        claims = self._claims
        if claims is None or is_dry_run:
            return Assigned(self._chosen(new, old, is_dry_run=is_dry_run)[1])
        wished = copied(new["spec"])
        namespace, name = _name_of(new)
        before = set(numbers_of(old.get("spec") or {})) if old is not None else set()
        if self._catch_up is not None and set(numbers_of(wished)) - before:
            await self._catch_up()  # what it asks for may have been given back elsewhere
        refused: set[Number] = set()
        while True:
            chosen, undo = self._chosen(new, old, refused)
            try:
                lost = await claims.claim(namespace, name, chosen) if chosen else set()
            finally:
                undo()  # from here on the claim says that it is taken
            if not lost:
                break
            refused |= lost
            new["spec"] = copied(wished)
        gone = before - set(numbers_of(new["spec"]))
        return Assigned(
            (lambda: claims.release(namespace, name, chosen)) if chosen else None,
            (lambda: claims.release(namespace, name, gone)) if gone else None,
        )

    def release(self, doc: Document) -> FollowUp | None:
        claims = self._claims
        if claims is None:
            return None
        numbers = tuple(numbers_of(doc.get("spec") or {}))
        namespace, name = _name_of(doc)
        return (lambda: claims.release(namespace, name, numbers)) if numbers else None

    def _chosen(
        self, new: Document, old: Document | None, refused: Container[Number] = (), *, is_dry_run: bool = False
    ) -> tuple[list[Number], Callable[[], None]]:
        """The numbers that the document has been given, or asks for, and did not have; and how to give them back."""
        uid: str = new["metadata"]["uid"]
        before = set(numbers_of(old.get("spec") or {})) if old is not None else set()
        choice = _Choice(
            uid, self._owners, before, self._is_refused(refused), self._address_ranges(), is_dry_run=is_dry_run
        )

        def undo() -> None:
            for number in choice.taken:
                if number not in self._numbers.get(uid, ()) and self._owners.get(number) == uid:
                    del self._owners[number]

        try:
            # Of one who is refused an address ports are not looked at.
            errors = _assign_address(new["spec"], choice) or _assign_ports(new["spec"], choice)
            if errors:
                raise invalid_object("Service", "", new["metadata"].get("name", ""), errors)
        except BaseException:
            undo()
            raise
        return choice.taken, undo

    def _address_ranges(self) -> tuple[IPv4Network, ...]:
        """Of the ServiceCIDRs that nobody deletes."""
        cidrs: list[str] = []
        for stored in self._ranges.objects.values():
            doc = stored.document()
            if "deletionTimestamp" not in doc["metadata"]:
                cidrs += (doc.get("spec") or {}).get("cidrs") or ()
        return ranges_of(cidrs) or (SERVICE_RANGE,)

    def _is_refused(self, refused: Container[Number]) -> Callable[[Number], bool]:
        claims = self._claims
        if claims is None:
            return lambda _number: False
        return lambda number: number in refused or (isinstance(number, str) and claims.is_known(number))

    def _follow(self) -> Stream:
        """Take what is there, and what changes from now on."""
        stream = self._services.follow(Selection(storage=SERVICES), None, reader="servicenumbers")
        self._services.read("servicenumbers", lambda stored: self._note(stored.document()))
        stream.on_event(self._drain)
        return stream

    def _drain(self) -> None:
        if self._stream.is_closed:
            for uid in list(self._numbers):  # and not of those that are on their way
                self._forget(uid)
            self._stream = self._follow()
        else:
            self._stream.drain(self._take)

    def _take(self, event: StreamEvent) -> None:
        doc = event.object.document()
        if event.type is EventType.DELETED:
            self._forget(doc["metadata"]["uid"])
        else:
            self._note(doc)

    def _note(self, doc: Document) -> None:
        uid = doc["metadata"]["uid"]
        self._forget(uid)
        self._numbers[uid] = numbers = tuple(numbers_of(doc.get("spec") or {}))
        for number in numbers:
            self._owners[number] = uid

    def _forget(self, uid: str) -> None:
        for number in self._numbers.pop(uid, ()):
            if self._owners.get(number) == uid:
                del self._owners[number]


class _Choice:
    """Numbers for one service: what it takes, and what it cannot have."""

    def __init__(
        self,
        uid: str,
        owners: dict[Number, str],
        before: Container[Number],
        is_refused: Callable[[Number], bool],
        ranges: tuple[IPv4Network, ...],
        *,
        is_dry_run: bool,
    ) -> None:
        self.uid = uid
        self.is_dry_run = is_dry_run
        """As upstream it may then ask for ports that nobody would give it."""
        self._owners = owners
        self._before = before
        self._is_refused = is_refused
        self.ranges = ranges
        self.taken: list[Number] = []
        """What it did not have before."""

    def take(self, number: Number) -> None:
        self._owners[number] = self.uid
        if number not in self._before:
            self.taken.append(number)

    def has(self, number: Number) -> bool:
        return self._owners.get(number) == self.uid

    def is_free(self, number: Number) -> bool:
        return number not in self._owners and not self._is_refused(number)

    def is_anothers(self, number: Number) -> bool:
        """Said of one that is asked for."""
        if number in self._before:
            return False
        return self._owners.get(number, self.uid) != self.uid or (not self.has(number) and self._is_refused(number))


def _assign_address(spec: _Spec, choice: _Choice) -> list[FieldError]:
    wanted = spec.get("clusterIP", "")
    if spec.get("type") == "ExternalName" or wanted == HEADLESS:
        return []
    if not wanted:
        found = free_address(_seed(choice.uid), lambda address: not choice.is_free(address), choice.ranges)
        if found is None:
            raise internal("failed to allocate a serviceIP: range is full")
        spec["clusterIP"], spec["clusterIPs"] = found, [found]
        choice.take(found)
        return []
    fault = ""
    if not is_in_range(wanted, choice.ranges):
        if not choice.has(wanted):
            valid = ",".join(map(str, choice.ranges))
            fault = f"the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {valid}"
    elif choice.is_anothers(wanted):
        fault = "provided IP is already allocated"
    if fault:
        return [invalid("spec.clusterIPs", [wanted], f"failed to allocate IP {wanted}: {fault}")]
    choice.take(wanted)
    return []


def _assign_ports(spec: _Spec, choice: _Choice) -> list[FieldError]:
    kind = spec.get("type")
    if kind not in _WITH_PORTS:
        return []
    errors: list[FieldError] = []
    ports = spec.get("ports") or ()
    for index, port in enumerate(ports):
        if port.get("nodePort"):
            errors.extend(_ask_for(port["nodePort"], f"spec.ports[{index}].nodePort", choice))
    if kind == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True):
        for port in ports:
            if not port.get("nodePort"):
                # The same port by another protocol is the same port outside.
                twin = next(
                    (p["nodePort"] for p in ports if p.get("port") == port.get("port") and p.get("nodePort")), 0
                )
                port["nodePort"] = twin or _free_port(choice)
    if kind == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
        if spec.get("healthCheckNodePort"):
            errors.extend(_ask_for(spec["healthCheckNodePort"], "spec.healthCheckNodePort", choice))
        else:
            spec["healthCheckNodePort"] = _free_port(choice)
    return errors


def _ask_for(port: int, path: str, choice: _Choice) -> list[FieldError]:
    if choice.is_anothers(port):
        return [invalid(path, port, "provided port is already allocated")]
    if port not in NODE_PORTS and not (choice.is_dry_run or choice.has(port)):
        bounds = f"{NODE_PORTS[0]}-{NODE_PORTS[-1]}"
        detail = f"provided port is not in the valid range. The range of valid ports is {bounds}"
        return [invalid(path, port, detail)]
    choice.take(port)
    return []


def _free_port(choice: _Choice) -> int:
    found = free_port(_seed(choice.uid), lambda port: not choice.is_free(port))
    if found is None:
        raise internal("failed to allocate a nodePort: range is full")
    choice.take(found)
    return found


def numbers_of(spec: _Spec) -> Iterable[Number]:
    """What a stored service holds."""
    if spec.get("type") != "ExternalName" and spec.get("clusterIP") not in (None, "", HEADLESS):
        yield spec["clusterIP"]
    if spec.get("type") in _WITH_PORTS:
        for port in spec.get("ports") or ():
            if port.get("nodePort"):
                yield port["nodePort"]
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]


def _name_of(doc: Document) -> tuple[str, str]:
    metadata = doc["metadata"]
    return metadata.get("namespace", ""), metadata.get("name", "")


def _seed(uid: str) -> int:
    return int(uid[:8], 16)
