"""What a service says of itself when it is written: families of addresses, and what it keeps from before.

Numbers (addresses, node ports) are given out later, by `ServiceAllocators`: here is only what follows from the
document and the one it replaces.
"""

from typing import Any, Final

from doorman.base.json_types import Document
from doorman.semantics.service_ranges import HEADLESS

_WITH_PORTS: Final = ("NodePort", "LoadBalancer")

_Spec = dict[str, Any]  # the spec of a service, changed in place


def complete_service(doc: Document) -> None:
    """For a new service."""
    spec: _Spec = doc["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    _complete_families(spec)
    if spec.get("type") in _WITH_PORTS and spec.get("allocateLoadBalancerNodePorts", True) is not False:
        for port in spec.get("ports") or ():
            if not port.get("nodePort") and (twin := _twin(spec["ports"], port.get("port"))):
                port["nodePort"] = twin


def _twin(ports: list[_Spec], number: int | None) -> int:
    """The node port that another port of the same number asks for."""
    return next((port["nodePort"] for port in ports if port.get("port") == number and port.get("nodePort")), 0)


def carry_over(new: Document, old: Document) -> None:
    """For a service that is replaced: what it was given stays with it unless it no longer needs it."""
    after: _Spec = new["spec"]
    before: _Spec = old.get("spec", {})
    _follow_address(after, before)
    if _needs_address(before) and _needs_address(after):
        if not after.get("clusterIP"):
            after["clusterIP"] = before.get("clusterIP", "")
        if not after.get("clusterIPs") and after["clusterIP"] == before.get("clusterIP"):
            after["clusterIPs"] = list(before.get("clusterIPs", ()))
        for member in ("ipFamilies", "ipFamilyPolicy"):
            if member not in after and member in before:
                after[member] = before[member]
    if before.get("type") in _WITH_PORTS and after.get("type") in _WITH_PORTS:
        _keep_ports(after, before)
        if _needs_health_port(before) and _needs_health_port(after) and before.get("healthCheckNodePort"):
            after.setdefault("healthCheckNodePort", before["healthCheckNodePort"])
    _drop_what_the_type_forbids(after, before)
    _complete_families(after)


def _follow_address(after: _Spec, before: _Spec) -> None:
    """Whoever changes the one address without the list means the list too, and the other way round."""
    one, many = after.get("clusterIP", ""), after.get("clusterIPs") or []
    was_one, was_many = before.get("clusterIP", ""), before.get("clusterIPs") or []
    if one != was_one and (many == was_many or not many):
        if one:
            after["clusterIPs"] = [one, *many[1:]]
        else:
            after.pop("clusterIPs", None)
    elif many != was_many and one == was_one and one and not many:
        after.pop("clusterIP", None)


def _needs_address(spec: _Spec) -> bool:
    return spec.get("type") != "ExternalName"


def _is_reached_from_outside(spec: _Spec) -> bool:
    return spec.get("type") in _WITH_PORTS or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def _needs_health_port(spec: _Spec) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _keep_ports(after: _Spec, before: _Spec) -> None:
    asked = {port["nodePort"] for port in after.get("ports") or () if port.get("nodePort")}
    held = {
        (port.get("protocol"), port.get("port")): port["nodePort"]
        for port in before.get("ports") or ()
        if port.get("nodePort")
    }
    for port in after.get("ports") or ():
        known = held.get((port.get("protocol"), port.get("port")))
        if not port.get("nodePort") and known is not None and known not in asked:
            port["nodePort"] = known


def _drop_what_the_type_forbids(after: _Spec, before: _Spec) -> None:
    """A change of type takes along what belonged to the old one, unless it was changed too: then it is a mistake."""
    is_bare = after.get("type") == "ExternalName"
    if is_bare and before.get("type") != "ExternalName":
        for member in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            if after.get(member) == before.get(member):
                after.pop(member, None)
    if before.get("type") in _WITH_PORTS and after.get("type") not in _WITH_PORTS:
        held = {(port.get("name"), port.get("nodePort")) for port in before.get("ports") or ()}
        for port in after.get("ports") or ():
            if (port.get("name"), port.get("nodePort")) in held:
                port.pop("nodePort", None)
    is_hidden = _is_reached_from_outside(before) and not _is_reached_from_outside(after)
    if is_hidden and after.get("externalTrafficPolicy") == before.get("externalTrafficPolicy"):
        after.pop("externalTrafficPolicy", None)
    if before.get("type") == "LoadBalancer" and after.get("type") != "LoadBalancer":
        for member in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if after.get(member) == before.get(member):
                after.pop(member, None)
    was_asked = after.get("healthCheckNodePort") != before.get("healthCheckNodePort")
    if _needs_health_port(before) and not _needs_health_port(after) and not was_asked:
        after.pop("healthCheckNodePort", None)


def _complete_families(spec: _Spec) -> None:
    """This cluster has addresses of one family."""
    if spec.get("type") == "ExternalName":
        return
    if spec.get("clusterIP") == HEADLESS and not spec.get("selector"):
        families = spec.setdefault("ipFamilies", ["IPv4"])
        if len(families) < 2 and spec.get("ipFamilyPolicy") != "SingleStack":
            spec["ipFamilies"] = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        return
    if not spec.get("ipFamilies"):
        spec["ipFamilies"] = ["IPv4"]
    spec.setdefault("ipFamilyPolicy", "SingleStack")
