"""Endpoints: the older form of where the endpoints of a service are."""

from typing import Final

from doorman.base.errors import FieldError, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.addresses import ip_faults
from doorman.semantics.name_syntax import dns_label_faults, qualified_name_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.discovery.endpoint_slice import endpoint_address_errors, is_api_service
from doorman.validation.faults import Part, badly, port_number
from doorman.validation.metadata import validate_metadata, validate_metadata_update

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_subset_errors(doc)]


def _update(new: Document, old: Document, _context: Context) -> list[FieldError]:
    errors = [*validate_metadata_update(new, old), *validate_metadata(new)]
    if new.get("subsets") != old.get("subsets"):
        errors += _subset_errors(new)
    return distinct(errors)


def _subset_errors(doc: Document) -> list[FieldError]:
    errors: list[FieldError] = []
    if is_api_service(doc):
        return errors
    for index, subset in enumerate(doc.get("subsets") or ()):
        at = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for group in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(subset.get(group) or ()):
                errors += _address_errors(address, f"{at}.{group}[{place}]")
        ports = subset.get("ports") or ()
        for place, port in enumerate(ports):
            errors += _port_errors(port, f"{at}.ports[{place}]", is_only=len(ports) == 1)
    return errors


def _address_errors(address: Part, path: str) -> list[FieldError]:
    ip = address.get("ip") or ""
    errors = badly(f"{path}.ip", ip, ip_faults(ip, legacy=True))
    if host := address.get("hostname"):
        errors += badly(f"{path}.hostname", host, dns_label_faults(host))
    if (node := address.get("nodeName")) is not None:
        errors += badly(f"{path}.nodeName", node, subdomain_faults(node))
    return [*errors, *endpoint_address_errors(ip, f"{path}.ip")]


def _port_errors(port: Part, path: str, *, is_only: bool) -> list[FieldError]:
    name, errors = port.get("name") or "", []
    if name:
        errors += badly(f"{path}.name", name, dns_label_faults(name))
    elif not is_only:
        errors.append(required(f"{path}.name"))
    errors += port_number(port.get("port", 0), f"{path}.port")
    protocol = port.get("protocol") or ""
    if not protocol:
        errors.append(required(f"{path}.protocol"))
    elif protocol not in _PROTOCOLS:
        errors.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    if (application := port.get("appProtocol")) is not None:
        errors += badly(f"{path}.appProtocol", application, qualified_name_faults(application))
    return errors


ENDPOINTS: Final = Validator(create=_create, update=_update)
