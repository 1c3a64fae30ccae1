"""Columns of services and what they are made of."""

from collections.abc import Mapping
from typing import Final

import msgspec

from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.server.tables.column import (
    Cell,
    TableColumn,
    age_column,
    at,
    joined_labels,
    name_column,
    selector_text,
    text,
)

SHOWN_MAX: Final = 3


def _external_ip(doc: Document, _now: Instant) -> Cell:
    extra = at(doc, "spec.externalIPs") or []
    match at(doc, "spec.type", "ClusterIP"):
        case "ClusterIP" | "NodePort":
            return ",".join(extra) or "<none>"
        case "LoadBalancer":
            ingress = at(doc, "status.loadBalancer.ingress") or []
            found = [place.get("ip") or place.get("hostname", "") for place in ingress]
            return ",".join([*found, *extra]) or "<pending>"
        case "ExternalName":
            return at(doc, "spec.externalName", "")
    return "<unknown>"


def _ports(doc: Document, _now: Instant) -> Cell:
    shown = []
    for port in at(doc, "spec.ports") or []:
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(shown) or "<none>"


def _endpoints(doc: Document, _now: Instant) -> Cell:
    shown = []
    for subset in doc.get("subsets", ()):
        ports = [p.get("port") for p in (subset.get("ports") or ())] or [None]
        for port in ports:
            addresses = [address.get("ip", "") for address in (subset.get("addresses") or ())]
            shown += [f"{address}:{port}" if port else address for address in addresses]
    return _first(shown, "<none>")


def _first(shown: list[str], empty: str) -> str:
    if not shown:
        return empty
    more = len(shown) - SHOWN_MAX
    return ",".join(shown[:SHOWN_MAX]) + (f" + {more} more..." if more > 0 else "")


def _slice_ports(doc: Document, _now: Instant) -> Cell:
    shown = [str(p.get("port") or p.get("name") or "*") for p in doc.get("ports") or ()]
    return _first(shown, "<unset>")


def _slice_endpoints(doc: Document, _now: Instant) -> Cell:
    shown = [address for endpoint in doc.get("endpoints") or () for address in (endpoint.get("addresses") or ())]
    return _first(shown, "<unset>")


def _hosts(doc: Document, _now: Instant) -> Cell:
    shown = [rule["host"] for rule in at(doc, "spec.rules") or [] if rule.get("host")]
    return _first(shown, "*")


def _ingress_address(doc: Document, _now: Instant) -> Cell:
    places = at(doc, "status.loadBalancer.ingress") or []
    return ",".join(place.get("ip") or place.get("hostname", "") for place in places)


def _parameters(reference: Document | None) -> str:
    if not reference:
        return "<none>"
    group = reference.get("apiGroup")
    return f"{reference.get('kind', '')}{f'.{group}' if group else ''}/{reference.get('name', '')}"


def _parent(reference: Document | None) -> str:
    """
    >>> _parent({"resource": "services", "namespace": "default", "name": "kubernetes"})
    'services/default/kubernetes'
    """
    if not reference:
        return "<none>"
    group = reference.get("group")
    resource = f"{reference.get('resource', '')}{f'.{group}' if group else ''}"
    return "/".join(part for part in (resource, reference.get("namespace"), reference.get("name")) if part)


NETWORK_COLUMNS: Final[Mapping[str, tuple[TableColumn, ...]]] = {
    "services": (
        name_column(),
        text("Type", "spec.type"),
        TableColumn(
            "Cluster-IP", lambda doc, _now: (at(doc, "spec.clusterIPs") or [at(doc, "spec.clusterIP")])[0] or "<none>"
        ),
        TableColumn("External-IP", _external_ip),
        TableColumn("Port(s)", _ports),
        age_column(),
        TableColumn("Selector", lambda doc, _now: joined_labels(at(doc, "spec.selector")), wide=True),
    ),
    "endpoints": (name_column(), TableColumn("Endpoints", _endpoints), age_column()),
    "endpointslices.discovery.k8s.io": (
        name_column(),
        text("AddressType", "addressType"),
        TableColumn("Ports", _slice_ports),
        TableColumn("Endpoints", _slice_endpoints),
        age_column(),
    ),
    "ingresses.networking.k8s.io": (
        name_column(),
        text("Class", "spec.ingressClassName", empty="<none>"),
        TableColumn("Hosts", _hosts),
        TableColumn("Address", _ingress_address),
        TableColumn("Ports", lambda doc, _now: "80, 443" if at(doc, "spec.tls") else "80"),
        age_column(),
    ),
    "ingressclasses.networking.k8s.io": (
        name_column(),
        text("Controller", "spec.controller"),
        TableColumn("Parameters", lambda doc, _now: _parameters(at(doc, "spec.parameters"))),
        age_column(),
    ),
    "servicecidrs.networking.k8s.io": (
        name_column(),
        TableColumn("CIDRs", lambda doc, _now: ",".join(at(doc, "spec.cidrs") or [])),
        age_column(),
    ),
    "ipaddresses.networking.k8s.io": (
        name_column(),
        TableColumn("ParentRef", lambda doc, _now: _parent(at(doc, "spec.parentRef"))),
        msgspec.structs.replace(age_column(), is_untitled=True),
    ),
    "networkpolicies.networking.k8s.io": (
        name_column(),
        TableColumn("Pod-Selector", lambda doc, _now: selector_text(at(doc, "spec.podSelector"))),
        age_column(),
    ),
}
