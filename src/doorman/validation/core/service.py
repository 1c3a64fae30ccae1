"""Services."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, JsonText, duplicate, forbidden, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.addresses import address_or_none, cidr_faults, ip_faults
from doorman.semantics.name_syntax import dns_label_faults, port_name_faults, qualified_name_faults, subdomain_faults
from doorman.semantics.service_ranges import HEADLESS
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.discovery.endpoint_slice import endpoint_address_errors
from doorman.validation.faults import badly, port_number
from doorman.validation.metadata import IMMUTABLE, label_errors, validate_metadata, validate_metadata_update

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_FAMILIES: Final = ("IPv4", "IPv6")
_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_PORT_RANGE: Final = "must be between 1 and 65535, inclusive"
_NOT_EXTERNAL_NAME: Final = "may not be set for ExternalName services"
_TRAFFIC: Final = ("Cluster", "Local")
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_ADDRESSES_MAX: Final = 2
_ONCE_SET: Final = "may not change once set"
_BALANCER_ONLY: Final = "may only be used when `type` is 'LoadBalancer'"
_SOURCE_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
TOPOLOGY_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
TOPOLOGY_MODE: Final = "service.kubernetes.io/topology-mode"

_Spec = Mapping[str, Any]  # the spec of a service


def _service_create(doc: Document, _context: Context) -> list[FieldError]:
    unassignable = _unassignable(doc, {})
    return unassignable or [*validate_metadata(doc, dns_label_faults), *_service_errors(doc, {})]


def _unassignable(doc: Document, old: Document) -> list[FieldError]:
    """Addresses are assigned before anything else is looked at: what is wrong with the wish for them comes alone."""
    spec = doc.get("spec") or {}
    errors = _address_errors(spec, old.get("spec") or {}) if spec.get("type") != "ExternalName" else []
    is_new = not old and spec.get("type") in ("NodePort", "LoadBalancer")
    return errors or (_taken_port_errors(spec.get("ports") or ()) if is_new else [])


def _taken_port_errors(ports: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    """Ports of one number share a node port; that of another number is taken."""
    given: dict[int, int] = {}
    taken: set[int] = set()
    for index, port in enumerate(ports):
        number, asked = port.get("port", 0), port.get("nodePort", 0)
        if not (held := given.get(number, 0)):
            asked = next((p["nodePort"] for p in ports if p.get("port", 0) == number and p.get("nodePort")), 0)
            given[number] = asked
        if asked and asked != held:
            if asked in taken:
                return [invalid(f"spec.ports[{index}].nodePort", asked, "provided port is already allocated")]
            taken.add(asked)
    return []


def _service_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource:
        return [*errors, *_load_balancer_errors(new, old)]
    if unassignable := _unassignable(new, old):
        return unassignable
    after, before = new.get("spec") or {}, old.get("spec") or {}
    if "ExternalName" not in (before.get("type"), after.get("type")):
        errors += _address_change_errors(after, before)
        errors += _family_change_errors(after, before)
    errors += _class_change_errors(after, before)
    port = before.get("healthCheckNodePort", 0)
    if needs_health_check(before) and needs_health_check(after) and after.get("healthCheckNodePort", 0) != port:
        errors.append(forbidden("spec.healthCheckNodePort", IMMUTABLE))
    return distinct([*errors, *_service_errors(new, old)])


def _service_errors(doc: Document, old: Document) -> list[FieldError]:
    """`old`: what was accepted once is accepted again; empty for a new service."""
    spec, before = doc.get("spec") or {}, old.get("spec") or {}
    errors = _topology_errors(doc["metadata"].get("annotations") or {})
    kind, ports = spec.get("type", ""), spec.get("ports") or ()
    if not ports and spec.get("clusterIP") != HEADLESS and kind != "ExternalName":
        errors.append(required("spec.ports"))
    errors.extend(_type_errors(spec, kind))
    names: set[str] = set()
    for index, port in enumerate(ports):
        errors.extend(_port_errors(port, f"spec.ports[{index}]", is_only=len(ports) == 1, names=names))
    errors.extend(label_errors(spec.get("selector") or {}, "spec.selector"))
    errors.extend(_affinity_errors(spec))
    if kind != "ExternalName":
        errors.extend(_address_errors(spec, before))
    for index, address in enumerate(spec.get("externalIPs") or ()):
        at = f"spec.externalIPs[{index}]"
        known = address in (before.get("externalIPs") or ())
        faults = [] if known else badly(at, address, ip_faults(address, legacy=True))
        errors += faults or endpoint_address_errors(address, at)
    if kind not in _TYPES:
        errors.append(not_supported("spec.type", JsonText(kind), _TYPES) if kind else required("spec.type"))
    errors.extend(_clash_errors(ports, kind))
    errors.extend(_balancer_errors(doc, old))
    return [*errors, *_traffic_errors(spec, kind)]


def _topology_errors(annotations: Mapping[str, str]) -> list[FieldError]:
    hints, mode = annotations.get(TOPOLOGY_HINTS), annotations.get(TOPOLOGY_MODE)
    if mode is None or hints in (None, mode):
        return []
    text = f"must match annotations[{TOPOLOGY_HINTS}] when both are specified"
    return [invalid(f"metadata.annotations[{TOPOLOGY_MODE}]", mode, text)]


def _address_change_errors(after: _Spec, before: _Spec) -> list[FieldError]:
    new, old = after.get("clusterIPs") or [], before.get("clusterIPs") or []
    if after.get("clusterIP") == HEADLESS == before.get("clusterIP"):
        return []
    first = "spec.clusterIPs[0]"
    if len(new) == len(old):
        return [
            invalid(f"spec.clusterIPs[{index}]", new, _ONCE_SET)
            for index, address in enumerate(old)
            if address != new[index]
        ]
    if not new:
        return [invalid(first, None, "primary clusterIP can not be unset")]
    errors = [invalid(first, new, _ONCE_SET)] if old and new[0] != old[0] else []
    if len(new) == 1 and len(old) > 1 and after.get("ipFamilyPolicy") != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        errors.append(invalid("spec.ipFamilyPolicy", JsonText(after.get("ipFamilyPolicy")), text))
    return errors


def _family_change_errors(after: _Spec, before: _Spec) -> list[FieldError]:
    if HEADLESS in (after.get("clusterIP"), before.get("clusterIP")):
        return []
    new, old, first = after.get("ipFamilies") or [], before.get("ipFamilies") or [], "spec.ipFamilies[0]"
    if len(new) == len(old):
        return [invalid(first, new, _ONCE_SET) for index, family in enumerate(old) if family != new[index]]
    errors: list[FieldError] = []
    if len(old) > len(new) and not after.get("clusterIPs"):
        errors.append(invalid(first, new or None, "primary ipFamily can not be unset"))
    if new and old and new[0] != old[0]:
        errors.append(invalid(first, after.get("clusterIPs"), _ONCE_SET))
    if len(new) == 1 and len(old) > 1 and after.get("ipFamilyPolicy") != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        errors.append(invalid("spec.ipFamilyPolicy", JsonText(after.get("ipFamilyPolicy")), text))
    return errors


def _class_change_errors(after: _Spec, before: _Spec) -> list[FieldError]:
    chosen = after.get("loadBalancerClass")
    if after.get("type") == before.get("type") == "LoadBalancer" and chosen != before.get("loadBalancerClass"):
        return [invalid("spec.loadBalancerClass", chosen, _ONCE_SET), *_class_errors(after)]
    return _class_errors(after)


def _class_errors(spec: _Spec) -> list[FieldError]:
    chosen, at = spec.get("loadBalancerClass"), "spec.loadBalancerClass"
    if chosen is None:
        return []
    if spec.get("type") != "LoadBalancer":
        return [forbidden(at, _BALANCER_ONLY)]
    return badly(at, chosen, qualified_name_faults(chosen))


def _balancer_errors(doc: Document, old: Document) -> list[FieldError]:
    spec, before = doc.get("spec") or {}, old.get("spec") or {}
    is_balancer, errors = spec.get("type") == "LoadBalancer", []
    ranges, notes = spec.get("loadBalancerSourceRanges") or (), doc["metadata"].get("annotations") or {}
    if ranges:
        if not is_balancer:
            errors.append(forbidden("spec.LoadBalancerSourceRanges", _BALANCER_ONLY))
        known = {text.strip() for text in before.get("loadBalancerSourceRanges") or ()}
        for index, text in enumerate(ranges):
            value = text.strip()
            if value not in known:
                errors += badly(f"spec.LoadBalancerSourceRanges[{index}]", value, cidr_faults(value, legacy=True))
    elif _SOURCE_RANGES in notes:
        at, text = f"metadata.annotations[{_SOURCE_RANGES}]", notes[_SOURCE_RANGES]
        if not is_balancer:
            errors.append(forbidden(at, _BALANCER_ONLY))
        said = (old.get("metadata") or {}).get("annotations") or {}
        if text.strip() and text != said.get(_SOURCE_RANGES):
            for value in text.strip().split(","):
                errors += badly(at, value.strip(), cidr_faults(value.strip(), legacy=True))
    if spec.get("allocateLoadBalancerNodePorts") is not None and not is_balancer:
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", _BALANCER_ONLY))
    return [*errors, *_class_errors(spec)]


def _load_balancer_errors(new: Document, old: Document) -> list[FieldError]:
    """What a load balancer's controller reports."""
    path = "status.loadBalancer.ingress"
    ingress = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    if ingress and (new.get("spec") or {}).get("type") != "LoadBalancer":
        return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    known = {one.get("ip") for one in ((old.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()}
    errors: list[FieldError] = []
    for index, one in enumerate(ingress):
        at, address, mode = f"{path}[{index}]", one.get("ip") or "", one.get("ipMode")
        if address and address not in known:
            errors += badly(f"{at}.ip", address, ip_faults(address, legacy=True))
        if mode is None:
            errors += [required(f"{at}.ipMode", "must be specified when `ip` is set")] if address else []
        elif not address:
            errors.append(forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
        elif mode not in ("Proxy", "VIP"):
            errors.append(not_supported(f"{at}.ipMode", JsonText(mode), ("Proxy", "VIP")))
        if host := one.get("hostname"):
            errors += badly(f"{at}.hostname", host, subdomain_faults(host))
            if address_or_none(host) is not None:
                errors.append(invalid(f"{at}.hostname", host, "must be a DNS name, not an IP address"))
    return errors


def _type_errors(spec: _Spec, kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if kind in ("LoadBalancer", "NodePort") and spec.get("clusterIP") == HEADLESS:
        errors.append(invalid("spec.clusterIPs[0]", HEADLESS, f"may not be set to 'None' for {kind} services"))
    if kind == "ExternalName":
        errors.extend(
            forbidden(f"spec.{member}", _NOT_EXTERNAL_NAME)
            for member in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
            if spec.get(member)
        )
        name = spec.get("externalName", "").removesuffix(".")
        if not name:
            errors.append(required("spec.externalName"))
        else:
            errors.extend(invalid("spec.externalName", name, fault) for fault in subdomain_faults(name))
    return errors


def _affinity_errors(spec: _Spec) -> list[FieldError]:
    affinity = spec.get("sessionAffinity", "")
    at = "spec.sessionAffinity"
    if affinity not in ("ClientIP", "None"):
        return [not_supported(at, JsonText(affinity), ("ClientIP", "None")) if affinity else required(at)]
    config = spec.get("sessionAffinityConfig")
    if affinity == "None":
        if config:
            detail = "must not be set when session affinity is None"
            return [forbidden("spec.sessionAffinityConfig", detail)]
        return []
    seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds", 0)
    if not 0 < seconds <= 86400:
        where = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        return [invalid(where, seconds, "must be greater than 0 and less than 86400")]
    return []


def _port_errors(port: _Spec, path: str, *, is_only: bool, names: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    name = port.get("name", "")
    if not name:
        if not is_only:
            errors.append(required(f"{path}.name"))
    else:
        errors.extend(invalid(f"{path}.name", name, fault) for fault in dns_label_faults(name))
        if name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
    number = port.get("port", 0)
    if not 1 <= number <= 65535:
        errors.append(invalid(f"{path}.port", number, _PORT_RANGE))
    protocol = port.get("protocol", "")
    if protocol not in _PROTOCOLS:
        at = f"{path}.protocol"
        errors.append(not_supported(at, JsonText(protocol), _PROTOCOLS) if protocol else required(at))
    target = port.get("targetPort")
    if isinstance(target, int) and not 1 <= target <= 65535:
        errors.append(invalid(f"{path}.targetPort", target, _PORT_RANGE))
    if isinstance(target, str):
        errors.extend(invalid(f"{path}.targetPort", target, fault) for fault in port_name_faults(target))
    if (application := port.get("appProtocol")) is not None:
        errors += badly(f"{path}.appProtocol", application, qualified_name_faults(application))
    return errors


def _clash_errors(ports: Any, kind: str) -> list[FieldError]:  # a list of ports
    errors: list[FieldError] = []
    if kind == "ClusterIP":
        text = "may not be used when `type` is 'ClusterIP'"
        errors += [forbidden(f"spec.ports[{i}].nodePort", text) for i, port in enumerate(ports) if port.get("nodePort")]
    outside: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("nodePort", 0))
        if key[1] and key in outside:
            errors.append(duplicate(f"spec.ports[{index}].nodePort", key[1]))
        outside.add(key)
    inside: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in inside:
            shown = {
                "Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1], "TargetPort": 0, "NodePort": 0,
            }  # fmt: skip
            errors.append(duplicate(f"spec.ports[{index}]", shown))
        inside.add(key)
    return errors


def needs_health_check(spec: _Spec) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _traffic_errors(spec: _Spec, kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    policy, at = spec.get("externalTrafficPolicy") or "", "spec.externalTrafficPolicy"
    if kind not in ("LoadBalancer", "NodePort") and not (kind == "ClusterIP" and spec.get("externalIPs")):
        if policy:
            errors.append(invalid(at, JsonText(policy), "may only be set for externally-accessible services"))
    elif not policy:
        errors.append(required(at))
    elif policy not in _TRAFFIC:
        errors.append(not_supported(at, JsonText(policy), _TRAFFIC))
    if port := spec.get("healthCheckNodePort", 0):
        if not needs_health_check(spec):
            text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            errors.append(invalid("spec.healthCheckNodePort", port, text))
        else:
            errors += port_number(port, "spec.healthCheckNodePort")
    inside = spec.get("internalTrafficPolicy")
    if inside is not None and inside not in _TRAFFIC:
        errors.append(not_supported("spec.internalTrafficPolicy", JsonText(inside), _TRAFFIC))
    spread = spec.get("trafficDistribution")
    if spread is not None and spread not in _DISTRIBUTIONS:
        errors.append(not_supported("spec.trafficDistribution", spread, _DISTRIBUTIONS))
    return errors


def _address_errors(spec: _Spec, before: _Spec) -> list[FieldError]:
    errors: list[FieldError] = []
    one, many = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    if many and not one:
        errors.append(invalid("spec.clusterIPs", many, "must be empty when `clusterIP` is not specified"))
    elif many and many[0] != one:
        errors.append(invalid("spec.clusterIPs", many, "first value must match `clusterIP`"))
    families = spec.get("ipFamilies") or ()
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            errors.append(not_supported(f"spec.ipFamilies[{index}]", JsonText(family), _FAMILIES))
        if family in families[:index]:
            errors.append(duplicate(f"spec.ipFamilies[{index}]", JsonText(family)))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("spec.ipFamilyPolicy", JsonText(policy), _POLICIES))
    wrong = _list_errors(many, before.get("clusterIPs") or ())
    if len(many) > _ADDRESSES_MAX:
        errors = [*errors, *wrong, invalid("spec.clusterIPs", many, "may only hold up to 2 values")]
    else:
        errors += wrong
    if wrong:
        return errors
    versions = [f"IPv{found.version}" for found in map(address_or_none, many) if found is not None]
    if len(many) > 1 and len(set(versions)) != len(many):
        text = "may specify no more than one IP for each IP family"
        errors.append(invalid("spec.clusterIPs", many, text))
    for index, (version, family) in enumerate(zip(versions, families, strict=False)):
        if family in _FAMILIES and family != version:
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(invalid(f"spec.clusterIPs[{index}]", many[index], text))
    return [*errors, *(_family_errors(spec) if not errors and one != HEADLESS else ())]


def _list_errors(addresses: Sequence[str], known: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, address in enumerate(addresses):
        if index == 0 and address == HEADLESS:
            if len(addresses) > 1:
                errors.append(invalid("spec.clusterIPs", addresses, "'None' must be the first and only value"))
        elif address not in known:
            errors += badly(f"spec.clusterIPs[{index}]", address, ip_faults(address, legacy=True))
    return errors


def _family_errors(spec: _Spec) -> list[FieldError]:
    """This cluster has one family of addresses."""
    errors: list[FieldError] = []
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        errors.append(invalid("spec.ipFamilyPolicy", "RequireDualStack", detail))
    errors.extend(
        invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(spec.get("ipFamilies") or ())
        if family != "IPv4"
    )
    return errors


SERVICE: Final = Validator(create=_service_create, update=_service_update)
