"""An allocation as it is written into a claim's status, and as the rest of the scheduler reads it."""

import uuid
from collections.abc import Sequence

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.pods import NodeSelector, NodeSelectorRequirement
from doorman.api.views.resource.resource_claims import AllocatedDevice
from doorman.base.json_types import Document
from doorman.scheduler.devices.device_requests import ChosenDevice, NodeAllocation


def allocation_document(allocation: NodeAllocation, node: Node) -> Document:
    """`status.allocation`. The request's tolerations go with each device: whoever evicts reads them there."""
    document: Document = {
        "devices": {"results": [_result(allocation, number) for number in range(len(allocation.devices))]}
    }
    config = _config(allocation)
    if config:
        document["devices"]["config"] = config
    selector = node_selector_or_none(allocation.devices, node.metadata.name)
    if selector is not None:
        document["nodeSelector"] = selector
    return document


def allocated_devices(document: Document) -> tuple[AllocatedDevice, ...]:
    """The results of such a document, as a view shows them."""
    return msgspec.convert(document["devices"]["results"], tuple[AllocatedDevice, ...])


def node_selector_or_none(devices: Sequence[ChosenDevice], node_name: str) -> Document | None:
    """Where else the claim could be used: nowhere, on nodes that all its devices' selectors mean, or everywhere."""
    fields: list[Document] = []
    expressions: list[Document] = []
    for chosen in devices:
        spec, device = chosen.device.published_in.spec, chosen.device.device
        own = device if spec.per_device_node_selection else spec
        if own.node_name or device.binds_to_node:
            name = {"key": "metadata.name", "operator": "In", "values": [node_name]}
            return {"nodeSelectorTerms": [{"matchFields": [name]}]}
        if own.node_selector is not None:
            _gather(own.node_selector, fields, expressions)
    if not fields and not expressions:
        return None
    term: Document = {}
    if expressions:
        term["matchExpressions"] = expressions
    if fields:
        term["matchFields"] = fields
    return {"nodeSelectorTerms": [term]}


def _gather(selector: NodeSelector, fields: list[Document], expressions: list[Document]) -> None:
    for term in selector.node_selector_terms[:1]:
        for requirements, gathered in ((term.match_fields, fields), (term.match_expressions, expressions)):
            for requirement in requirements:
                document = _requirement(requirement)
                if document not in gathered:
                    gathered.append(document)


def _requirement(requirement: NodeSelectorRequirement) -> Document:
    document: Document = {"key": requirement.key, "operator": requirement.operator}
    if requirement.values:
        document["values"] = list(requirement.values)
    return document


def _result(allocation: NodeAllocation, number: int) -> Document:
    chosen = allocation.devices[number]
    wanted = chosen.request.wanted
    driver, pool, name = chosen.device.id
    document: Document = {"request": chosen.request.reference, "driver": driver, "pool": pool, "device": name}
    if wanted.admin_access:
        document["adminAccess"] = True
    if wanted.tolerations:
        document["tolerations"] = [_without_empty(msgspec.to_builtins(each)) for each in wanted.tolerations]
    device = chosen.device.device
    if device.binding_conditions:
        document["bindingConditions"] = list(device.binding_conditions)
        if device.binding_failure_conditions:
            document["bindingFailureConditions"] = list(device.binding_failure_conditions)
    if chosen.consumption is not None:
        # The same again should this allocation be made again, and another for every other share.
        seed = f"{allocation.claim.metadata.uid}/{driver}/{pool}/{name}/{number}"
        document["shareID"] = str(uuid.uuid5(uuid.NAMESPACE_OID, seed))
        if chosen.consumption:
            document["consumedCapacity"] = {key: text for key, (_, text) in chosen.consumption.items()}
    return document


def _config(allocation: NodeAllocation) -> list[Document]:
    """Of the classes, each once with the requests it is for, then the claim's own; no names mean all requests."""
    found: list[Document] = []
    of_class: dict[str, list[Document]] = {}
    for request in allocation.alternatives:
        known = of_class.get(request.device_class.metadata.name)
        if known is None:
            known = [
                {"source": "FromClass", "requests": [request.reference], **config}
                for config in request.device_class.spec.config
            ]
            of_class[request.device_class.metadata.name] = known
            found.extend(known)
        else:
            for entry in known:
                entry["requests"].append(request.reference)
    names = [{request.name, request.reference} for request in allocation.alternatives]
    for config in allocation.claim.spec.devices.config:
        wanted = config.get("requests") or []
        if not wanted or any(each & set(wanted) for each in names):
            found.append({"source": "FromClaim", **config})
    for entry in found:
        requests = set(entry.get("requests") or ())
        if not requests or all(each & requests for each in names):
            entry.pop("requests", None)
    return found


def _without_empty(document: Document) -> Document:
    return {key: value for key, value in document.items() if value not in ("", None)}
