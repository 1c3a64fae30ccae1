"""NetworkPolicies: who may talk to whom."""

from typing import Final

from doorman.base.errors import FieldError, JsonText, forbidden, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.addresses import cidr_faults, network_or_none
from doorman.semantics.name_syntax import port_name_faults
from doorman.validation.faults import Part, badly, each, port_number, validator
from doorman.validation.selectors import label_selector_errors

_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_TYPES: Final = ("Ingress", "Egress")


def policy_errors(doc: Document) -> list[FieldError]:
    spec: Part = doc.get("spec") or {}
    errors = label_selector_errors(spec.get("podSelector"), "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            errors += each(rule.get("ports"), f"{path}.ports", _port_errors)
            errors += each(rule.get(peers), f"{path}.{peers}", _peer_errors)
    types = spec.get("policyTypes") or ()
    if len(types) > len(_TYPES):
        return [*errors, invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
    errors += [
        not_supported(f"spec.policyTypes[{index}]", JsonText(name), _TYPES)
        for index, name in enumerate(types)
        if name not in _TYPES
    ]
    return errors


def _port_errors(port: Part, path: str) -> list[FieldError]:
    errors = []
    protocol, number, last = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(not_supported(f"{path}.protocol", JsonText(protocol), _PROTOCOLS))
    if number is None:
        if last is not None:
            errors.append(invalid(f"{path}.endPort", last, "may not be specified when `port` is not specified"))
    elif isinstance(number, int):
        errors += port_number(number, f"{path}.port")
        if last is not None:
            if last < number:
                errors.append(invalid(f"{path}.endPort", last, "must be greater than or equal to `port`"))
            errors += port_number(last, f"{path}.endPort")
    else:
        if last is not None:
            errors.append(invalid(f"{path}.endPort", last, "may not be specified when `port` is non-numeric"))
        errors += badly(f"{path}.port", number, port_name_faults(number))
    return errors


def _peer_errors(peer: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("podSelector", "namespaceSelector"):
        errors += label_selector_errors(peer.get(name), f"{path}.{name}")
    block = peer.get("ipBlock")
    if block is not None:
        errors += _block_errors(block, f"{path}.ipBlock")
    others = [name for name in ("podSelector", "namespaceSelector") if peer.get(name) is not None]
    if not others and block is None:
        errors.append(required(path, "must specify a peer"))
    elif others and block is not None:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _block_errors(block: Part, path: str) -> list[FieldError]:
    text = block.get("cidr") or ""
    if not text:
        return [required(f"{path}.cidr")]
    errors = badly(f"{path}.cidr", text, cidr_faults(text, legacy=True))
    network = network_or_none(text)
    for index, part in enumerate(block.get("except") or () if network is not None else ()):
        at = f"{path}.except[{index}]"
        errors += badly(at, part, cidr_faults(part, legacy=True))
        inner = network_or_none(part)
        if inner is None or network is None:
            continue
        is_inside = inner.version == network.version and inner.network_address in network
        if not is_inside or network.prefixlen >= inner.prefixlen:
            errors.append(invalid(at, part, "must be a strict subset of `cidr`"))
    return errors


NETWORK_POLICY: Final = validator(policy_errors, again=True)
