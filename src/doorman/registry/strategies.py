"""How a kind behaves when it is written, beyond defaults and validation.

The generic rules need no code of a kind's own: status belongs to the status subresource, generation counts
changes of spec. A kind that differs has a `Strategy` with its own functions in `STRATEGIES`; the default one serves
all others.
"""

from collections.abc import Callable, Mapping
from typing import Final

from doorman.api.kinds import Kind
from doorman.api.views.apiextensions import RESOURCE as DEFINITIONS
from doorman.api.well_known import JOBS, LIMIT_RANGES, TEMPLATE_GENERATION_ANNOTATION
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.registry.kinds import resource_strategy
from doorman.registry.kinds.job_strategy import forget_selector, generate_selector
from doorman.registry.kinds.pod_strategy import create_pod, ephemeral_containers, pod_status, resize, update_pod
from doorman.registry.kinds.service_strategy import carry_over, complete_service
from doorman.registry.kinds.volume_strategy import create_claim, create_volume, update_claim, volume_status
from doorman.registry.strategy import (
    Prepare,
    PrepareUpdate,
    Strategy,
    is_changed,
    prepare_create,
    prepare_status,
    prepare_update,
    restore,
    take_only,
)

# Nodes


def _create_node(kind: Kind, doc: Document, now: Instant) -> None:  # noqa: ARG001
    """A node brings its status with it: kubelets register themselves so."""
    for name in ("configSource", "podPreemptionPolicy"):
        doc.get("spec", {}).pop(name, None)
    doc.get("status", {}).pop("config", None)


def _update_node(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    prepare_update(kind, new, old, now)
    for name in ("configSource", "podPreemptionPolicy"):
        if name not in old.get("spec", {}):
            new.get("spec", {}).pop(name, None)


def _node_status(kind: Kind, new: Document, old: Document, now: Instant) -> None:  # noqa: ARG001
    restore(new, old, "spec")
    if "config" not in old.get("status", {}):
        new.get("status", {}).pop("config", None)


# Namespaces


def _create_namespace(kind: Kind, doc: Document, now: Instant) -> None:  # noqa: ARG001
    metadata = doc["metadata"]
    metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata.get("name", "")
    finalizers = (doc.get("spec") or {}).get("finalizers") or []
    doc["spec"] = {"finalizers": finalizers if "kubernetes" in finalizers else [*finalizers, "kubernetes"]}
    doc["status"] = {"phase": "Active"}


def _update_namespace(kind: Kind, new: Document, old: Document, now: Instant) -> None:  # noqa: ARG001
    restore(new, old, "spec")
    restore(new, old, "status")
    metadata = new["metadata"]
    metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata["name"]


def _finalize_namespace(kind: Kind, new: Document, old: Document, now: Instant) -> None:  # noqa: ARG001
    take_only(new, old, "spec")


# Workloads


def _update_deployment(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    prepare_update(kind, new, old, now)
    before, after = old["metadata"], new["metadata"]
    if before.get("annotations", {}) != after.get("annotations", {}):
        after["generation"] = before.get("generation", 0) + 1


def _deployment_status(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    """Annotations may be written here: the revision is, without making a new generation of it. Labels may not."""
    prepare_status(kind, new, old, now)
    restore(new["metadata"], old["metadata"], "labels")


def _create_job(kind: Kind, doc: Document, now: Instant) -> None:
    prepare_create(kind, doc, now)
    generate_selector(doc)


def _create_daemonset(kind: Kind, doc: Document, now: Instant) -> None:
    prepare_create(kind, doc, now)
    doc["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION_ANNOTATION] = "1"


def _update_daemonset(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    prepare_update(kind, new, old, now)
    was = int(old["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION_ANNOTATION, "1"))
    is_new_template = new.get("spec", {}).get("template") != old.get("spec", {}).get("template")
    annotations = new["metadata"].setdefault("annotations", {})
    annotations[TEMPLATE_GENERATION_ANNOTATION] = str(was + 1 if is_new_template else was)


def _daemonset_status(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    prepare_status(kind, new, old, now)
    was = old["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION_ANNOTATION)
    if was is not None:
        new["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION_ANNOTATION] = was


# Kinds whose generation follows a rule of its own


def _update_priority_class(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    """Its generation stays what it was in the beginning."""
    prepare_update(kind, new, old, now)
    new["metadata"]["generation"] = old["metadata"].get("generation", 1)


def _create_endpoint_slice(kind: Kind, doc: Document, now: Instant) -> None:
    prepare_create(kind, doc, now)
    _settle_endpoint_slice(doc)


def _settle_endpoint_slice(doc: Document) -> None:
    """Only the older version of the API has other topology than the zone. Empty lists are none."""
    for name in ("endpoints", "ports"):
        doc[name] = doc.get(name) or None
    for endpoint in doc["endpoints"] or ():
        endpoint.pop("deprecatedTopology", None)


def _update_endpoint_slice(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    """Labels say which service it belongs to: they count too. So does what is left out afterwards."""
    for name in ("endpoints", "ports"):
        new[name] = new.get(name) or None
    prepare_update(kind, new, old, now)
    _settle_endpoint_slice(new)
    before, after = old["metadata"], new["metadata"]
    if before.get("labels", {}) != after.get("labels", {}):
        after["generation"] = before.get("generation", 0) + 1


def _update_csi_driver(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    """It has a generation from its first change on."""
    prepare_update(kind, new, old, now)
    if is_changed(kind, new, old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


# Leases


def _create_lease(kind: Kind, doc: Document, now: Instant) -> None:
    """Elections that the server coordinates are a feature that is off."""
    prepare_create(kind, doc, now)
    for name in _OF_COORDINATED_ELECTIONS:
        (doc.get("spec") or {}).pop(name, None)


def _update_lease(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    prepare_update(kind, new, old, now)
    before = old.get("spec") or {}
    if not any(name in before for name in _OF_COORDINATED_ELECTIONS):
        for name in _OF_COORDINATED_ELECTIONS:
            (new.get("spec") or {}).pop(name, None)


_OF_COORDINATED_ELECTIONS: Final = ("strategy", "preferredHolder")

# Service accounts


def _create_account(kind: Kind, doc: Document, now: Instant) -> None:
    prepare_create(kind, doc, now)
    _keep_secret_names(doc)


def _update_account(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    prepare_update(kind, new, old, now)
    _keep_secret_names(new)


def _keep_secret_names(doc: Document) -> None:
    """Secrets are of the account's namespace: nothing but their names is kept."""
    if doc.get("secrets"):
        doc["secrets"] = [{"name": one["name"]} if one.get("name") else {} for one in doc["secrets"]]


# Services


def _create_service(kind: Kind, doc: Document, now: Instant) -> None:
    prepare_create(kind, doc, now)
    complete_service(doc)
    doc["status"] = {"loadBalancer": {}}


def _update_service(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    prepare_update(kind, new, old, now)
    carry_over(new, old)


# Events

_EVENT_ALWAYS: Final = {
    "eventTime": None, "firstTimestamp": None, "lastTimestamp": None, "reportingComponent": "", "reportingInstance": "",
}  # fmt: skip
"""Members of an event that are written also when they say nothing: Go does, and clients rely on their being there."""


def _create_event(kind: Kind, doc: Document, now: Instant) -> None:  # noqa: ARG001
    for name, nothing in _EVENT_ALWAYS.items():
        doc.setdefault(name, nothing)
    doc.setdefault("source", {})


def _update_event(kind: Kind, new: Document, old: Document, now: Instant) -> None:  # noqa: ARG001
    _create_event(kind, new, now)


# Requests for certificates


def _update_certificate_request(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    """What was asked for stays as it was asked for."""
    prepare_update(kind, new, old, now)
    restore(new, old, "spec")


def _certificate_request_status(kind: Kind, new: Document, old: Document, now: Instant) -> None:  # noqa: ARG001
    """Validation says which conditions may not be changed here."""
    take_only(new, old, "status", "metadata")
    _date_conditions(new, old, now)


def _approve_certificate_request(kind: Kind, new: Document, old: Document, now: Instant) -> None:  # noqa: ARG001
    """The conditions and metadata, and nothing else."""
    wanted = new.get("status", {}).get("conditions") or []
    take_only(new, old, "status", "metadata")
    status = {name: value for name, value in old.get("status", {}).items() if name != "conditions"}
    if wanted:
        status["conditions"] = wanted
    if status or "status" in old:
        new["status"] = status
    else:
        new.pop("status", None)
    _date_conditions(new, old, now)


def _date_conditions(new: Document, old: Document, now: Instant) -> None:
    """What says nothing of when it came about came about now, or when the same was first said."""
    before = {(c.get("type"), c.get("status")): c for c in reversed(old.get("status", {}).get("conditions") or ())}
    for condition in new.get("status", {}).get("conditions") or ():
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = to_time(now)
        same = before.get((condition.get("type"), condition.get("status")), {})
        if not condition.get("lastTransitionTime"):
            condition["lastTransitionTime"] = same.get("lastTransitionTime") or to_time(now)


# Group versions


def _create_api_service(kind: Kind, doc: Document, now: Instant) -> None:
    """What this server serves itself is there at once."""
    prepare_create(kind, doc, now)
    if not doc.get("spec", {}).get("service"):
        said = {"reason": "Local", "message": "Local APIServices are always available"}
        available = {"type": "Available", "status": "True", "lastTransitionTime": to_time(now), **said}
        doc["status"] = {"conditions": [available]}


# Definitions of custom kinds


def _create_definition(kind: Kind, doc: Document, now: Instant) -> None:
    prepare_create(kind, doc, now)
    doc["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}}
    _note_stored_version(doc)


def _update_definition(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    prepare_update(kind, new, old, now)
    _note_stored_version(new)


def _note_stored_version(doc: Document) -> None:
    """Every version that objects may have been stored in is remembered."""
    status = dict(doc.get("status", {}))
    stored = list(status.get("storedVersions") or ())
    for version in doc.get("spec", {}).get("versions") or ():
        if version.get("storage"):
            if (name := version.get("name", "")) not in stored:
                stored.append(name)
            break  # that there is one is for validation to say
    doc["status"] = {**status, "storedVersions": stored or None}


def _strategy(
    *,
    create: Prepare = prepare_create,
    update: PrepareUpdate = prepare_update,
    status: PrepareUpdate = prepare_status,
    subresources: Mapping[str, PrepareUpdate] | None = None,
    status_metadata: tuple[str, ...] = (),
    undo_create: Callable[[Document], None] | None = None,
    default_times: Callable[[Document, Instant], None] | None = None,
    is_named_by_server: bool = False,
) -> Strategy:
    return Strategy(
        create=create,
        update=update,
        status=status,
        subresources=subresources or {},
        status_metadata=status_metadata,
        undo_create=undo_create,
        default_times=default_times,
        is_named_by_server=is_named_by_server,
    )


DEFAULT: Final = _strategy()
STRATEGIES: Final[Mapping[str, Strategy]] = {
    "pods": _strategy(
        create=create_pod,
        update=update_pod,
        status=pod_status,
        subresources={"ephemeralcontainers": ephemeral_containers, "resize": resize},
        status_metadata=("ownerReferences",),
    ),
    "nodes": _strategy(create=_create_node, update=_update_node, status=_node_status),
    "namespaces": _strategy(
        create=_create_namespace, update=_update_namespace, subresources={"finalize": _finalize_namespace}
    ),
    "priorityclasses.scheduling.k8s.io": _strategy(update=_update_priority_class),
    "endpointslices.discovery.k8s.io": _strategy(create=_create_endpoint_slice, update=_update_endpoint_slice),
    "leases.coordination.k8s.io": _strategy(create=_create_lease, update=_update_lease),
    "csidrivers.storage.k8s.io": _strategy(update=_update_csi_driver),
    "serviceaccounts": _strategy(create=_create_account, update=_update_account),
    "services": _strategy(create=_create_service, update=_update_service),
    "persistentvolumes": _strategy(create=create_volume, status=volume_status),
    "persistentvolumeclaims": _strategy(create=create_claim, update=update_claim),
    "events": _strategy(create=_create_event, update=_update_event),
    "deployments.apps": _strategy(update=_update_deployment, status=_deployment_status, status_metadata=("labels",)),
    JOBS: _strategy(create=_create_job, undo_create=forget_selector),
    LIMIT_RANGES: _strategy(is_named_by_server=True),
    "daemonsets.apps": _strategy(create=_create_daemonset, update=_update_daemonset, status=_daemonset_status),
    "certificatesigningrequests.certificates.k8s.io": _strategy(
        update=_update_certificate_request,
        status=_certificate_request_status,
        subresources={"approval": _approve_certificate_request},
    ),
    "apiservices.apiregistration.k8s.io": _strategy(create=_create_api_service),
    DEFINITIONS: _strategy(create=_create_definition, update=_update_definition),
    "resourceslices.resource.k8s.io": _strategy(
        create=resource_strategy.create_resource_slice,
        update=resource_strategy.update_resource_slice,
        default_times=resource_strategy.date_device_taints,
    ),
    "resourceclaims.resource.k8s.io": _strategy(
        create=resource_strategy.create_resource_claim,
        update=resource_strategy.update_resource_claim,
        status=resource_strategy.resource_claim_status,
    ),
    "resourceclaimtemplates.resource.k8s.io": _strategy(
        create=resource_strategy.create_claim_template, update=resource_strategy.update_claim_template
    ),
    "devicetaintrules.resource.k8s.io": _strategy(
        update=resource_strategy.update_device_taint_rule, default_times=resource_strategy.date_rule
    ),
    "resourcepoolstatusrequests.resource.k8s.io": _strategy(
        create=resource_strategy.create_pool_request, update=resource_strategy.update_pool_request
    ),
}


def strategy_of(kind: Kind) -> Strategy:
    return STRATEGIES.get(kind.storage, DEFAULT)
