"""Services and where they lead, as kubectl describes them: Endpoints, EndpointSlices, Ingresses and their classes,
ServiceCIDRs, IPAddresses.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from doorman.base.errors import ApiError
from doorman.cli.describe.description import NOTHING, UNSET, Description, Doc, Line, labels_text, member, truth
from doorman.cli.describe.kinds.described_namespace import describe_conditions
from doorman.cli.describe.related_objects import RelatedObjects

_SHOWN_MAX: Final = 3
_PORTS: Final = ("Name", "Port", "Protocol")


def _joined(values: Sequence[str]) -> str:
    return ",".join(values) or NOTHING


def _ingress_text(addresses: Sequence[Doc]) -> str:
    texts = []
    for one in addresses:
        mode = f" ({one['ipMode']})" if one.get("ipMode") is not None else ""
        texts.append(f"{one['ip']}{mode}" if one.get("ip") else one.get("hostname", ""))
    return ", ".join(texts)


_SERVICE: Final = (
    Line("Selector", "spec.selector", labels_text, absent=NOTHING),
    Line("Type", "spec.type", absent=""),
    Line("IP Family Policy", "spec.ipFamilyPolicy"),
    Line("IP Families", "spec.ipFamilies", _joined, absent=NOTHING),
    Line("IP", "spec.clusterIP", absent=""),
    Line("IPs", "spec.clusterIPs", _joined, absent=NOTHING),
    Line("External IPs", "spec.externalIPs", _joined),
    Line("Desired LoadBalancer IP", "spec.loadBalancerIP"),
    Line("External Name", "spec.externalName"),
    Line("LoadBalancer Ingress", "status.loadBalancer.ingress", _ingress_text),
)
_SERVICE_POLICIES: Final = (
    Line("Session Affinity", "spec.sessionAffinity", absent=""),
    Line("External Traffic Policy", "spec.externalTrafficPolicy"),
    Line("Internal Traffic Policy", "spec.internalTrafficPolicy"),
    Line("HealthCheck NodePort", "spec.healthCheckNodePort"),
    Line("LoadBalancer Source Ranges", "spec.loadBalancerSourceRanges", _joined),
    Line("Traffic Distribution", "spec.trafficDistribution"),
)
_ENDPOINT: Final = (
    Line("Hostname", "hostname", absent=UNSET, level=2),
    Line("TargetRef", "targetRef", lambda found: f"{found['kind']}/{found['name']}", level=2),
    Line("NodeName", "nodeName", absent=UNSET, level=2),
    Line("Zone", "zone", absent=UNSET, level=2),
)
_PARAMETERS: Final = (
    Line("APIGroup", "apiGroup", level=1),
    Line("Kind", "kind", absent="", level=1),
    Line("Name", "name", absent="", level=1),
)
_PARENT: Final = (
    Line("Group", "group", absent="", level=1),
    Line("Resource", "resource", absent="", level=1),
    Line("Namespace", "namespace", absent="", level=1),
    Line("Name", "name", absent="", level=1),
)


def describe_service(out: Description, doc: Doc, related: RelatedObjects) -> None:
    metadata = doc["metadata"]
    slices = _slices(related, metadata["namespace"], metadata["name"])
    out.head(doc)
    out.lines(doc, _SERVICE)
    for port in member(doc, "spec", "ports") or ():
        name, protocol = port.get("name") or UNSET, port.get("protocol", "TCP")
        out.line(f"Port:\t{name}\t{port['port']}/{protocol}")
        out.pair("TargetPort", f"{port.get('targetPort', port['port'])}/{protocol}")
        if port.get("appProtocol") is not None:
            out.pair("AppProtocol", port["appProtocol"])
        if port.get("nodePort"):
            out.line(f"NodePort:\t{name}\t{port['nodePort']}/{protocol}")
        out.pair("Endpoints", endpoints_text(slices, port.get("name", "")))
    out.lines(doc, _SERVICE_POLICIES)


def describe_endpoints(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc)
    out.line("Subsets:")
    for subset in doc.get("subsets") or ():
        for title, field in (("Addresses", "addresses"), ("NotReadyAddresses", "notReadyAddresses")):
            out.pair(title, _joined([one["ip"] for one in subset.get(field) or ()]), 1)
        if subset.get("ports"):
            out.line("Ports:", 1)
            out.table(_PORTS, _port_rows(subset["ports"]), 2)
        out.line("")


def describe_endpoint_slice(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc)
    out.pair("AddressType", doc.get("addressType", ""))
    if doc.get("ports"):
        out.line("Ports:")
        out.table(_PORTS, _port_rows(doc["ports"]))
    else:
        out.line("Ports: <unset>")
    out.line("Endpoints:" if doc.get("endpoints") else "Endpoints: <none>")
    for endpoint in doc.get("endpoints") or ():
        out.pair("- Addresses", ", ".join(endpoint.get("addresses") or ()) or NOTHING, 1)
        out.line("Conditions:", 2)
        ready = member(endpoint, "conditions", "ready")
        out.pair("Ready", UNSET if ready is None else truth(ready), 3)
        out.lines(endpoint, _ENDPOINT)


def describe_ingress(out: Description, doc: Doc, related: RelatedObjects) -> None:
    metadata, spec = doc["metadata"], doc.get("spec") or {}
    space = metadata["namespace"]
    out.pair("Name", metadata["name"])
    out.labels("Labels", metadata.get("labels"))
    out.pair("Namespace", space)
    addresses = {one.get("ip") or one.get("hostname") for one in member(doc, "status", "loadBalancer", "ingress") or ()}
    out.pair("Address", ",".join(sorted(filter(None, addresses))))
    out.pair("Ingress Class", spec.get("ingressClassName", NOTHING))
    default = _backend_text(related, space, spec["defaultBackend"]) if spec.get("defaultBackend") else "<default>"
    out.pair("Default backend", default)
    if spec.get("tls"):
        out.line("TLS:")
        for tls in spec["tls"]:
            verb = f"{tls['secretName']} terminates" if tls.get("secretName") else "SNI routes"
            out.line(f"{verb} {','.join(tls.get('hosts') or ())}", 1)
    out.line("Rules:")
    out.table(("Host", "Path", "Backends"), ())
    rules = [rule for rule in spec.get("rules") or () if rule.get("http") is not None]
    for rule in rules:
        out.line(f"{rule.get('host') or '*'}\t", 1)
        for path in rule["http"].get("paths") or ():
            out.line(f"\t{path.get('path', '')} \t{_backend_text(related, space, path['backend'])}", 2)
    if not rules:
        out.line(f"*\t*\t{default}", 1)
    out.annotations(metadata.get("annotations"))


def describe_ingress_class(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc, with_namespace=False)
    out.pair("Controller", member(doc, "spec", "controller") or "")
    parameters = member(doc, "spec", "parameters")
    if parameters is not None:
        out.line("Parameters:")
        out.lines(parameters, _PARAMETERS)


def describe_service_cidr(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc, with_namespace=False)
    out.pair("CIDRs", ", ".join(member(doc, "spec", "cidrs") or ()))
    conditions = member(doc, "status", "conditions")
    if conditions:
        out.line("Status:")
        describe_conditions(out, conditions)


def describe_ip_address(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc, with_namespace=False)
    parent = member(doc, "spec", "parentRef")
    if parent is not None:
        out.line("Parent Reference:")
        out.lines(parent, _PARENT)


def endpoints_text(slices: Sequence[Doc], port_name: str) -> str:
    """The first addresses of a port that are ready, and how many more there are."""
    if not slices:
        return NOTHING
    found = [text for one in slices for text in _ready_addresses(one, port_name)]
    shown = ",".join(found[:_SHOWN_MAX])
    return f"{shown} + {len(found) - _SHOWN_MAX} more..." if len(found) > _SHOWN_MAX else shown


def _ready_addresses(one: Doc, port_name: str) -> Iterator[str]:
    """A slice without ports is that of a headless Service without any."""
    addresses = [
        endpoint["addresses"][0]
        for endpoint in one.get("endpoints") or ()
        if member(endpoint, "conditions", "ready") is not False
    ]
    if not one.get("ports"):
        yield from addresses
    for port in one.get("ports") or ():
        if (port.get("name") or "") == port_name:
            yield from (f"[{host}]:{port['port']}" if ":" in host else f"{host}:{port['port']}" for host in addresses)


def _slices(related: RelatedObjects, space: str, service: str) -> list[dict[str, Any]]:
    path = f"/apis/discovery.k8s.io/v1/namespaces/{space}/endpointslices"
    return related.items(path, labelSelector=f"kubernetes.io/service-name={service}")


def _port_rows(ports: Sequence[Doc]) -> Iterator[tuple[object, ...]]:
    for port in ports:
        yield port.get("name") or UNSET, port.get("port", UNSET), port.get("protocol", "TCP")


def _backend_text(related: RelatedObjects, space: str, backend: Doc) -> str:
    if backend.get("service") is None:
        found = backend.get("resource") or {}
        return f"APIGroup: {found.get('apiGroup', NOTHING)}, Kind: {found.get('kind')}, Name: {found.get('name')}"
    service, port = backend["service"], backend["service"].get("port") or {}
    text = f"{service['name']}:{port.get('number') or port.get('name', '')}"
    try:
        slices = _slices(related, space, service["name"])
        found = related.get(f"/api/v1/namespaces/{space}/services/{service['name']}")
    except ApiError as error:
        return f"{text} (<error: {error}>)"
    wanted = "number" if port.get("number") else "name"
    field = {"number": "port", "name": "name"}[wanted]
    ports = [one for one in member(found, "spec", "ports") or () if port.get(wanted) and one.get(field) == port[wanted]]
    name = ports[-1].get("name", "") if ports else ""
    return f"{text} ({endpoints_text(slices, name)})"
