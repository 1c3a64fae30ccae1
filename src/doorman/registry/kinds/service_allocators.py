"""Addresses and node ports of services: given out when a service is written, free again when it is gone.

What is taken is read from the services themselves, so it is right after a restart. A number is taken from the moment
somebody proposes to use it: two services that are on their way to the disk never get the same.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from doorman.api.machinery.schema import Document
from doorman.base.errors import FieldError, internal, invalid, invalid_object
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.streams import EventType, Stream, StreamEvent
from doorman.semantics.service_ranges import (
    HEADLESS,
    NODE_PORTS,
    SERVICE_RANGE,
    free_address,
    free_port,
    is_in_range,
)

SERVICES: Final = "services"
_WITH_PORTS: Final = ("NodePort", "LoadBalancer")

Number = str | int
"""An address or a port."""
Undo = Callable[[], None]
_Spec = dict[str, Any]  # the spec of a service, changed in place


class ServiceAllocators:
    def __init__(self, services: Collection) -> None:
        self._owners: dict[Number, str] = {}
        """Who has a number, by uid."""
        self._numbers: dict[str, tuple[Number, ...]] = {}
        """What each stored service has."""
        self._services = services
        self._stream = self._follow()

    def assign(self, new: Document, old: Document | None) -> Undo:
        """Give the document the numbers it lacks, in place. Called when it is valid; `Undo` when it is not stored."""
        spec: _Spec = new["spec"]
        uid: str = new["metadata"]["uid"]
        before = set(numbers_of(old.get("spec") or {})) if old is not None else set()
        taken: list[Number] = []

        def undo() -> None:
            for number in taken:
                if number not in self._numbers.get(uid, ()) and self._owners.get(number) == uid:
                    del self._owners[number]

        def take(number: Number) -> None:
            self._owners[number] = uid
            if number not in before:
                taken.append(number)

        try:
            errors = [*self._assign_address(spec, uid, take), *self._assign_ports(spec, uid, take)]
            if errors:
                raise invalid_object("Service", "", new["metadata"].get("name", ""), errors)
        except BaseException:
            undo()
            raise
        return undo

    def _assign_address(self, spec: _Spec, uid: str, take: Callable[[Number], None]) -> list[FieldError]:
        wanted = spec.get("clusterIP", "")
        if spec.get("type") == "ExternalName" or wanted == HEADLESS:
            return []
        if not wanted:
            found = free_address(_seed(uid), self._owners.__contains__)
            if found is None:
                raise internal("failed to allocate a serviceIP: range is full")
            spec["clusterIP"], spec["clusterIPs"] = found, [found]
            take(found)
            return []
        fault = ""
        if not is_in_range(wanted):
            fault = (
                f"the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {SERVICE_RANGE}"
                if self._owners.get(wanted) != uid
                else ""
            )
        elif self._owners.get(wanted, uid) != uid:
            fault = "provided IP is already allocated"
        if fault:
            return [invalid("spec.clusterIPs", [wanted], f"failed to allocate IP {wanted}: {fault}")]
        take(wanted)
        return []

    def _assign_ports(self, spec: _Spec, uid: str, take: Callable[[Number], None]) -> list[FieldError]:
        kind = spec.get("type")
        if kind not in _WITH_PORTS:
            return []
        errors: list[FieldError] = []
        ports = spec.get("ports") or ()
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                errors.extend(self._ask_for(port["nodePort"], f"spec.ports[{index}].nodePort", uid, take))
        if kind == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True):
            for port in ports:
                if not port.get("nodePort"):
                    # The same port by another protocol is the same port outside.
                    twin = next(
                        (p["nodePort"] for p in ports if p.get("port") == port.get("port") and p.get("nodePort")), 0
                    )
                    port["nodePort"] = twin or self._free_port(uid, take)
        if kind == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
            if spec.get("healthCheckNodePort"):
                errors.extend(self._ask_for(spec["healthCheckNodePort"], "spec.healthCheckNodePort", uid, take))
            else:
                spec["healthCheckNodePort"] = self._free_port(uid, take)
        return errors

    def _ask_for(self, port: int, path: str, uid: str, take: Callable[[Number], None]) -> list[FieldError]:
        if self._owners.get(port, uid) != uid:
            return [invalid(path, port, "provided port is already allocated")]
        if port not in NODE_PORTS and self._owners.get(port) != uid:
            bounds = f"{NODE_PORTS[0]}-{NODE_PORTS[-1]}"
            detail = f"provided port is not in the valid range. The range of valid ports is {bounds}"
            return [invalid(path, port, detail)]
        take(port)
        return []

    def _free_port(self, uid: str, take: Callable[[Number], None]) -> int:
        found = free_port(_seed(uid), self._owners.__contains__)
        if found is None:
            raise internal("failed to allocate a nodePort: range is full")
        take(found)
        return found

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


def _seed(uid: str) -> int:
    return int(uid[:8], 16)
