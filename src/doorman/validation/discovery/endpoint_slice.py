"""EndpointSlices: where the endpoints of a service are."""

from collections.abc import Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, duplicate, invalid, not_supported, required, too_many
from doorman.base.json_types import Document
from doorman.semantics.addresses import address_or_none, ip_faults
from doorman.semantics.name_syntax import dns_label_faults, label_value_faults, qualified_name_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import Part, badly, fixed
from doorman.validation.metadata import NameFaults, label_errors, validate_metadata

_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_ADDRESSES_MAX: Final = 100
_PORTS_MAX: Final = 20000
_ENDPOINTS_MAX: Final = 1000
_TOPOLOGY_LABELS_MAX: Final = 16
_HINTS_MAX: Final = 8


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_slice_errors(doc), *_endpoints_errors(doc)]


def _update(new: Document, old: Document, _context: Context) -> list[FieldError]:
    errors = [*validate_metadata(new), *_slice_errors(new)]
    if new.get("endpoints") != old.get("endpoints"):
        errors += _endpoints_errors(new)
    return distinct([*errors, *fixed(new, old, "addressType", "")])


def _slice_errors(doc: Document) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = doc.get("addressType") or ""
    if not kind:
        errors.append(required("addressType"))
    elif kind not in _TYPES:
        errors.append(not_supported("addressType", kind, _TYPES))
    ports = doc.get("ports") or ()
    if len(ports) > _PORTS_MAX:
        return [*errors, too_many("ports", len(ports), _PORTS_MAX)]
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"ports[{index}]", port.get("name") or ""
        if name:
            errors += badly(f"{at}.name", name, dns_label_faults(name))
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        protocol = port.get("protocol")
        if protocol is None:
            errors.append(required(f"{at}.protocol"))
        elif protocol not in _PROTOCOLS:
            errors.append(not_supported(f"{at}.protocol", protocol, _PROTOCOLS))
        if (application := port.get("appProtocol")) is not None:
            errors += badly(f"{at}.appProtocol", application, qualified_name_faults(application))
    return errors


def _endpoints_errors(doc: Document) -> list[FieldError]:
    endpoints = doc.get("endpoints") or ()
    if len(endpoints) > _ENDPOINTS_MAX:
        return [too_many("endpoints", len(endpoints), _ENDPOINTS_MAX)]
    kind = doc.get("addressType") or ""
    if is_api_service(doc):
        return []
    return [
        error
        for index, endpoint in enumerate(endpoints)
        for error in _endpoint_errors(endpoint, kind, f"endpoints[{index}]")
    ]


def is_api_service(doc: Document) -> bool:
    """The endpoints of this server itself, which may well listen on the loopback address only, and says so."""
    metadata = doc["metadata"]
    return bool(metadata.get("name") == "kubernetes" and metadata.get("namespace") == "default")


def _endpoint_errors(endpoint: Part, kind: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        errors.append(required(f"{path}.addresses"))
    elif len(addresses) > _ADDRESSES_MAX:
        errors.append(too_many(f"{path}.addresses", len(addresses), _ADDRESSES_MAX))
    for index, address in enumerate(addresses):
        errors += _address_errors(address, kind, f"{path}.addresses", index)
    if (node := endpoint.get("nodeName")) is not None:
        errors += badly(f"{path}.nodeName", node, subdomain_faults(node))
    topology = endpoint.get("deprecatedTopology") or {}
    if len(topology) > _TOPOLOGY_LABELS_MAX:
        errors.append(too_many(f"{path}.deprecatedTopology", len(topology), _TOPOLOGY_LABELS_MAX))
    errors += label_errors(topology, f"{path}.deprecatedTopology")
    if (host := endpoint.get("hostname")) is not None:
        errors += badly(f"{path}.hostname", host, dns_label_faults(host))
    hints = endpoint.get("hints") or {}
    errors += _hint_errors(hints.get("forZones") or (), f"{path}.hints.forZones", label_value_faults)
    if len(hints.get("forZones") or ()) <= _HINTS_MAX:
        errors += _hint_errors(hints.get("forNodes") or (), f"{path}.hints.forNodes", subdomain_faults)
    return errors


def _address_errors(address: str, kind: str, path: str, index: int) -> list[FieldError]:
    at = f"{path}[{index}]"
    if kind == "FQDN":
        return _domain_errors(address, at)
    if kind not in ("IPv4", "IPv6"):
        return []
    if errors := badly(at, address, ip_faults(address, legacy=kind == "IPv4")):
        return errors
    found = address_or_none(address)
    if found is not None and f"IPv{found.version}" != kind:
        errors.append(invalid(path, address, f"must be an {kind} address"))
    return [*errors, *endpoint_address_errors(address, at)]


def endpoint_address_errors(address: str, path: str) -> list[FieldError]:
    """Ranges no endpoint can be in: traffic would not leave the node."""
    found = address_or_none(address)
    if found is None:
        return [invalid(path, address, "must be a valid IP address")]
    faults = []
    if found.is_unspecified:
        faults.append(f"may not be unspecified ({address})")
    if found.is_loopback:
        faults.append("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if found.is_link_local:
        faults.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if found.is_multicast and str(found).startswith(("224.0.0.", "ff02:")):
        faults.append("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
    return badly(path, address, faults)


def _domain_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    name = name.removesuffix(".")
    if faults := subdomain_faults(name):
        return [invalid(path, name, ",".join(faults))]
    labels = name.split(".")
    if len(labels) < 2:
        return [invalid(path, name, "should be a domain with at least two segments separated by dots")]
    for label in labels:
        if faults := dns_label_faults(label):
            return [invalid(path, label, ",".join(faults))]
    return []


def _hint_errors(hints: Sequence[dict[str, Any]], path: str, faults: NameFaults) -> list[FieldError]:
    if len(hints) > _HINTS_MAX:
        return [too_many(path, len(hints), _HINTS_MAX)]
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, hint in enumerate(hints):
        at, name = f"{path}[{index}].name", hint.get("name") or ""
        if name in names:
            errors.append(duplicate(at, name))
        names.add(name)
        errors += badly(at, name, faults(name))
    return errors


ENDPOINT_SLICE: Final = Validator(create=_create, update=_update)
