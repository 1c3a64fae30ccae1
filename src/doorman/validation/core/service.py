"""Services."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final

from doorman.api.machinery.schema import Document
from doorman.base.errors import FieldError, Json, duplicate, forbidden, invalid, not_supported, required
from doorman.semantics.name_syntax import dns_label_faults, port_name_faults, subdomain_faults
from doorman.semantics.service_ranges import HEADLESS
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import label_errors, validate_metadata, validate_metadata_update

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_FAMILIES: Final = ("IPv4", "IPv6")
_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_PORT_RANGE: Final = "must be between 1 and 65535, inclusive"
_NOT_EXTERNAL_NAME: Final = "may not be set for ExternalName services"
_NO_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

_Spec = Mapping[str, Any]  # the spec of a service


def _service_create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc, dns_label_faults), *_service_errors(doc.get("spec") or {})]


def _service_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource:
        return errors
    after, before = new.get("spec") or {}, old.get("spec") or {}
    fixed = before.get("clusterIP")
    if fixed and "ExternalName" not in (before.get("type"), after.get("type")) and after.get("clusterIP") != fixed:
        errors.append(invalid("spec.clusterIPs[0]", after.get("clusterIPs"), "may not change once set"))
    return distinct([*errors, *_service_create(new, context)])


def _service_errors(spec: _Spec) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, ports = spec.get("type", ""), spec.get("ports") or ()
    if not ports and spec.get("clusterIP") != HEADLESS and kind != "ExternalName":
        errors.append(required("spec.ports"))
    errors.extend(_type_errors(spec, kind))
    names: set[str] = set()
    for index, port in enumerate(ports):
        errors.extend(_port_errors(port, f"spec.ports[{index}]", is_only=len(ports) == 1, names=names))
    errors.extend(label_errors(spec.get("selector") or {}, "spec.selector"))
    errors.extend(_affinity_errors(spec))
    if kind not in _TYPES:
        errors.append(not_supported("spec.type", Json(kind), _TYPES) if kind else required("spec.type"))
    errors.extend(_clash_errors(ports, kind))
    errors.extend(_traffic_errors(spec, kind))
    if kind != "ExternalName":
        errors.extend(_address_errors(spec))
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
        return [not_supported(at, Json(affinity), ("ClientIP", "None")) if affinity else required(at)]
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
        errors.append(not_supported(at, Json(protocol), _PROTOCOLS) if protocol else required(at))
    target = port.get("targetPort")
    if isinstance(target, int) and not 1 <= target <= 65535:
        errors.append(invalid(f"{path}.targetPort", target, _PORT_RANGE))
    if isinstance(target, str):
        errors.extend(invalid(f"{path}.targetPort", target, fault) for fault in port_name_faults(target))
    return errors


def _clash_errors(ports: Any, kind: str) -> list[FieldError]:  # a list of ports
    errors: list[FieldError] = []
    outside: set[tuple[str, int]] = set()
    inside: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        protocol, node_port = port.get("protocol", ""), port.get("nodePort", 0)
        if node_port:
            if kind == "ClusterIP":
                errors.append(forbidden(f"{path}.nodePort", "may not be used when `type` is 'ClusterIP'"))
            if (protocol, node_port) in outside:
                errors.append(duplicate(f"{path}.nodePort", node_port))
            outside.add((protocol, node_port))
        key = (protocol, port.get("port", 0))
        if key in inside:
            shown = {
                "Name": "", "Protocol": protocol, "AppProtocol": None, "Port": key[1], "TargetPort": 0, "NodePort": 0,
            }  # fmt: skip
            errors.append(duplicate(path, shown))
        inside.add(key)
    return errors


def _traffic_errors(spec: _Spec, kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for member in ("externalTrafficPolicy", "internalTrafficPolicy"):
        policy = spec.get(member)
        if policy is not None and policy not in ("Cluster", "Local"):
            errors.append(not_supported(f"spec.{member}", Json(policy), ("Cluster", "Local")))
    if spec.get("externalTrafficPolicy") and kind not in ("LoadBalancer", "NodePort") and not spec.get("externalIPs"):
        errors.append(
            invalid(
                "spec.externalTrafficPolicy",
                spec["externalTrafficPolicy"],
                "may only be set for externally-accessible services",
            )
        )
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        where = "spec.allocateLoadBalancerNodePorts"
        errors.append(forbidden(where, "may only be used when `type` is 'LoadBalancer'"))
    return errors


def _address_errors(spec: _Spec) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in _FAMILIES:
            errors.append(not_supported(f"spec.ipFamilies[{index}]", Json(family), _FAMILIES))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("spec.ipFamilyPolicy", Json(policy), _POLICIES))
    one, many = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    if many and not one:
        errors.append(invalid("spec.clusterIPs", many, "must be empty when `clusterIP` is not specified"))
    elif many and many[0] != one:
        errors.append(invalid("spec.clusterIPs", many, "first value must match `clusterIP`"))
    is_headless = HEADLESS in many
    if is_headless and len(many) > 1:
        errors.append(invalid("spec.clusterIPs", many, "'None' must be the first and only value"))
    elif not is_headless:
        errors.extend(
            invalid(f"spec.clusterIPs[{index}]", address, _NO_ADDRESS)
            for index, address in enumerate(many)
            if not _is_address(address)
        )
        if not errors:
            errors.extend(_family_errors(spec))
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


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


SERVICE: Final = Validator(create=_service_create, update=_service_update)
