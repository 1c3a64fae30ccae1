"""resourceclaim-controller: makes the claims that pods want from templates, and frees what nobody uses any more.

Rules
-----
1. For every entry of a pod that names a template a claim is made, owned by the pod, unless there is one already; then
   the pod is told in `status.resourceClaimStatuses`. A template that is missing is told in an event, and tried again.
2. A pod that was put on a node by hand gets its allocated claims reserved. Nothing is ever allocated here.
3. A reservation goes when its pod is gone, was replaced, has ended, or is being deleted without a node. With the last
   one goes the allocation, and then the finalizer that has kept the claim.
4. A claim that is being deleted and not reserved loses allocation and finalizer too.
5. A claim that was made for a pod which has ended, or was replaced, is deleted when nothing is reserved; with a pod
   that is gone the garbage collector takes it.

Keys: `pod/<namespace>/<name>` and `claim/<namespace>/<name>`.
"""

from collections import Counter as Counts
from collections.abc import Iterable, Sequence
from typing import Any, Final

from prometheus_client import Counter, Gauge
from prometheus_client.metrics import MetricWrapperBase

from doorman.api.views.meta import controller_of
from doorman.api.views.pods import Pod
from doorman.api.views.resource.resource_claims import (
    CLAIM_TEMPLATES,
    CLAIMS,
    EXTENDED_RESOURCE_ANNOTATION,
    FINALIZER,
    POD_CLAIM_ANNOTATION,
    ClaimConsumer,
    ResourceClaim,
    ResourceClaimTemplate,
)
from doorman.base.clock import Instant
from doorman.base.errors import ApiError
from doorman.client.actions import Action, Create, Delete, ObjectReference, Patch, PatchType, RecordEvent
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.devices.generated_claims import (
    MissingTemplate,
    asks_for_admin_access,
    claim_manifest_from,
    existing_claim,
)
from doorman.semantics.devices.pod_claims import (
    claim_keys_of,
    consumer_of,
    is_done,
    is_made_for,
    is_reserved_for,
    known_references,
)

NAME: Final = "resourceclaim-controller"
COMPONENT: Final = "resource_claim"
FIELD_MANAGER: Final = "ResourceClaimController"
WORKERS: Final = 64
BY_CLAIM: Final = "resourceClaim"
BY_TEMPLATE: Final = "resourceClaimTemplate"
"""Indexes of pods."""
RETRY_SECONDS_MIN: Final = 0.005
RETRY_SECONDS_MAX: Final = 1000.0


def templates_of(pod: Pod) -> tuple[str, ...]:
    """`namespace/name` of the templates that a pod names: an index."""
    if not pod.spec.resource_claims:
        return ()
    names = (entry.resource_claim_template_name for entry in pod.spec.resource_claims)
    return tuple(dict.fromkeys(f"{pod.metadata.namespace}/{name}" for name in names if name))


def pod_keys(change: ObjectChange) -> Iterable[str]:
    newest: Pod = change.newest
    extended = newest.status.extended_resource_claim_status
    if not newest.spec.resource_claims and extended is None:
        return ()
    if change.new is not None and not is_done(newest):
        is_news = newest.spec.resource_claims and not _is_treated_alike(change.old, newest)
        return (f"pod/{newest.metadata.key}",) if is_news else ()
    used = [f"claim/{key}" for key in claim_keys_of(newest)]
    if extended is not None:
        used.append(f"claim/{newest.metadata.namespace}/{extended.resource_claim_name}")
    return used


def _is_treated_alike(old: Pod | None, new: Pod) -> bool:
    """Whether rules 1 and 2 say the same of both: reports on a pod that runs are of no interest."""
    return (
        old is not None
        and old.metadata.uid == new.metadata.uid
        and old.metadata.deletion_timestamp == new.metadata.deletion_timestamp
        and old.spec.node_name == new.spec.node_name
        and old.status.resource_claim_statuses == new.status.resource_claim_statuses
    )


def claim_keys(change: ObjectChange) -> Iterable[str]:
    claim: ResourceClaim = change.newest
    return (f"claim/{claim.metadata.key}",)


def template_keys(change: ObjectChange) -> Iterable[str]:
    template: ResourceClaimTemplate = change.newest
    return (f"template/{template.metadata.key}",)


SOURCES: Final = (
    Source("pods", pod_keys),
    Source(CLAIMS, claim_keys),
    Source(CLAIM_TEMPLATES, template_keys),
)


def decide_remaining(claim: ResourceClaim, pods: ListerOf[Pod]) -> list[ClaimConsumer]:
    """Rule 3: the reservations that stay."""
    remaining = []
    for consumer in claim.status.reserved_for:
        if not consumer.api_group and consumer.resource == "pods":
            pod = pods.get(f"{claim.metadata.namespace}/{consumer.name}")
            if pod is None or pod.metadata.uid != consumer.uid or is_done(pod):
                continue
        remaining.append(consumer)
    return remaining


def decide_release(claim: ResourceClaim, remaining: Sequence[ClaimConsumer]) -> list[Action]:
    """Rules 3 and 4: what is to be written when these reservations stay."""
    had = claim.status.reserved_for
    is_ours = FINALIZER in claim.metadata.finalizers
    if len(remaining) < len(had):
        body: list[Any] = [{"op": "test", "path": "/status/reservedFor", "value": [_document(one) for one in had]}]
        if remaining:
            kept = [_document(one) for one in remaining]
            return [_json_patch(claim, [*body, {"op": "replace", "path": "/status/reservedFor", "value": kept}])]
        body.append({"op": "remove", "path": "/status/reservedFor"})
        if is_ours and claim.status.allocation is not None:
            body.append({"op": "remove", "path": "/status/allocation"})
        freed: list[Action] = [_json_patch(claim, body)]
        return [*freed, _without_finalizer(claim)] if is_ours else freed
    if not is_ours or not claim.metadata.deletion_timestamp or remaining:
        return []
    actions: list[Action] = []
    if claim.status.allocation is not None:
        actions.append(_json_patch(claim, [{"op": "remove", "path": "/status/allocation"}]))
    return [*actions, _without_finalizer(claim)]


def is_served(pod: Pod, claim: ResourceClaim) -> bool:
    """Whether rules 1 and 2 are met as far as this claim goes: most changes of claims are of no use to their pods."""
    for reference in known_references(pod):
        if reference.name == claim.metadata.name:
            is_usable = not reference.is_generated or is_made_for(claim, pod)
            is_placed = bool(pod.spec.node_name) and claim.status.allocation is not None
            return is_usable and (not is_placed or is_reserved_for(claim, pod))
    return False


class ResourceClaimController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(
        self,
        pods: ListerOf[Pod],
        claims: ListerOf[ResourceClaim],
        templates: ListerOf[ResourceClaimTemplate],
    ) -> None:
        self._pods = pods
        self._claims = claims
        self._templates = templates
        self._attempts: dict[str, int] = {}
        """By key: how often a claim could not be made."""
        self._making: dict[str, str] = {}
        """Whether it is for admin access, by the key of the pod whose claims are being made."""
        self._created = Counter(
            "dynamic_resource_allocation_resourceclaim_creates_total",
            "ResourceClaims that were created, or could not be.",
            ("status", "admin_access", "owner_api_group", "owner_api_kind"),
            registry=None,
        )
        self._counts = Gauge(
            "dynamic_resource_allocation_resource_claims",
            "ResourceClaims there are.",
            ("allocated", "admin_access", "source"),
            registry=None,
        )

    @property
    def metrics(self) -> Sequence[MetricWrapperBase]:
        counts = Counts(_labels(claim) for claim in self._claims.list())
        self._counts.clear()
        for labels, count in counts.items():
            self._counts.labels(*labels).set(count)
        return (self._created, self._counts)

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        if kind == "pod":
            return self._reconcile_pod(key, rest, now)
        if kind == "template":
            waiting = self._pods.by(BY_TEMPLATE, rest)
            return Result(wakes=[(f"pod/{pod.metadata.key}", now) for pod in waiting])
        assert kind == "claim", f"unknown key {key}"
        return self._reconcile_claim(rest, now)

    def failed(self, key: str, error: ApiError) -> None:
        """A name that is taken by somebody else's claim: the next attempt takes another."""
        pod = self._pods.get(key.removeprefix("pod/")) if key.startswith("pod/") else None
        if pod is not None and error.code == 409 and self._is_name_taken(key, pod):
            self._attempts[key] = self._attempts.get(key, 0) + 1
        if key in self._making:
            self._created.labels("failure", self._making.pop(key), "", "Pod").inc()

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        self._attempts.pop(key, None)
        self._making.pop(key, None)

    def _reconcile_pod(self, key: str, pod_key: str, now: Instant) -> Result:
        pod = self._pods.get(pod_key)
        if key in self._making:
            self._created.labels("success", self._making.pop(key), "", "Pod").inc()
        if pod is None or pod.metadata.deletion_timestamp:
            self._attempts.pop(key, None)
            return DONE
        try:
            actions = self._make_claims(key, pod)
        except MissingTemplate as error:
            return self._not_made(key, pod, str(error), now)
        if not actions:
            self._attempts.pop(key, None)
        if pod.spec.node_name:
            actions += self._reservations(pod)
        return Result(actions=actions)

    def _make_claims(self, key: str, pod: Pod) -> list[Action]:
        """Rule 1. Raises MissingTemplate, with the entry it is about."""
        told = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
        actions: list[Action] = []
        fresh: dict[str, str] = {}
        for entry in pod.spec.resource_claims:
            if not entry.resource_claim_template_name or (entry.name in told and told[entry.name] is None):
                continue
            claim = existing_claim(pod, entry, self._claims)
            if claim is not None:
                if told.get(entry.name) != claim.metadata.name:
                    fresh[entry.name] = claim.metadata.name
                continue
            template = self._templates.get(f"{pod.metadata.namespace}/{entry.resource_claim_template_name}")
            try:
                manifest = claim_manifest_from(template, pod, entry, attempt=self._attempts.get(key, 0))
            except MissingTemplate as error:
                raise MissingTemplate(f"PodResourceClaim {entry.name}: {error}") from error
            # Made of what is stored already, and of copies: the server need not look at it as at a stranger's.
            # It is waited for with the patch that tells the pod of it.
            create = Create(
                resource=CLAIMS,
                namespace=pod.metadata.namespace,
                body=manifest,
                is_given_away=True,
                is_waited_for=False,
            )
            actions.append(create)
            self._making[key] = "true" if asks_for_admin_access(manifest) else "false"
            fresh[entry.name] = manifest["metadata"]["name"]
        if fresh:
            actions.append(_told(pod, {**{name: own for name, own in told.items() if own}, **fresh}))
        return actions

    def _is_name_taken(self, key: str, pod: Pod) -> bool:
        for entry in pod.spec.resource_claims:
            template = self._templates.get(f"{pod.metadata.namespace}/{entry.resource_claim_template_name}")
            if template is not None:
                manifest = claim_manifest_from(template, pod, entry, attempt=self._attempts.get(key, 0))
                there = self._claims.get(f"{pod.metadata.namespace}/{manifest['metadata']['name']}")
                if there is not None and not is_made_for(there, pod):
                    return True
        return False

    def _not_made(self, key: str, pod: Pod, message: str, now: Instant) -> Result:
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        delay = min(RETRY_SECONDS_MIN * 2.0 ** min(attempt - 1, 62), RETRY_SECONDS_MAX)
        event = RecordEvent(
            regarding=_reference(pod),
            type="Warning",
            reason="FailedResourceClaimCreation",
            message=message,
            component=COMPONENT,
        )
        return Result(actions=(event,), wakes=((key, now + delay),))

    def _reservations(self, pod: Pod) -> list[Action]:
        """Rule 2."""
        actions: list[Action] = []
        for reference in known_references(pod):
            claim = self._claims.get(f"{pod.metadata.namespace}/{reference.name}")
            if claim is None or claim.status.allocation is None or is_reserved_for(claim, pod):
                continue
            if reference.is_generated and not is_made_for(claim, pod):
                continue
            body = {"metadata": {"uid": claim.metadata.uid}, "status": {"reservedFor": [consumer_of(pod)]}}
            actions.append(_patch(claim, body, subresource="status"))
        return actions

    def _reconcile_claim(self, claim_key: str, now: Instant) -> Result:
        claim = self._claims.get(claim_key)
        users = [pod for pod in self._pods.by(BY_CLAIM, claim_key) if not is_done(pod)]
        if claim is None:
            return Result(wakes=_wakes(users, now))
        remaining = decide_remaining(claim, self._pods)
        actions = decide_release(claim, remaining)
        if not remaining and not claim.metadata.deletion_timestamp and self._is_left_over(claim):
            meta = claim.metadata
            actions.append(Delete(resource=CLAIMS, namespace=meta.namespace, name=meta.name, uid=meta.uid))
        owner = controller_of(claim.metadata)
        owning = self._pods.get(f"{claim.metadata.namespace}/{owner.name}") if owner is not None else None
        if owning is not None and owning not in users:
            users.append(owning)
        return Result(actions=actions, wakes=_wakes([pod for pod in users if not is_served(pod, claim)], now))

    def _is_left_over(self, claim: ResourceClaim) -> bool:
        """Rule 5."""
        owner = controller_of(claim.metadata)
        if owner is None or owner.api_version != "v1" or owner.kind != "Pod":
            return False
        pod = self._pods.get(f"{claim.metadata.namespace}/{owner.name}")
        return pod is not None and (pod.metadata.uid != owner.uid or is_done(pod))


def _wakes(pods: Iterable[Pod], now: Instant) -> list[tuple[str, Instant]]:
    return [(f"pod/{pod.metadata.key}", now) for pod in pods]


def _labels(claim: ResourceClaim) -> tuple[str, str, str]:
    requests = claim.spec.devices.requests
    is_admin = any(request.exactly is not None and request.exactly.admin_access for request in requests)
    source = ""
    if claim.metadata.annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true":
        source = "extended_resource"
    elif claim.metadata.annotations.get(POD_CLAIM_ANNOTATION):
        source = "resource_claim_template"
    return str(claim.status.allocation is not None).lower(), str(is_admin).lower(), source


def _told(pod: Pod, names: dict[str, str]) -> Patch:
    statuses = [{"name": entry, "resourceClaimName": names[entry]} for entry in sorted(names)]
    return Patch(
        resource="pods",
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        subresource="status",
        body={
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"uid": pod.metadata.uid},
            "status": {"resourceClaimStatuses": statuses},
        },
        type=PatchType.APPLY,
        manager=FIELD_MANAGER,
    )


def _without_finalizer(claim: ResourceClaim) -> Patch:
    body = {"metadata": {"uid": claim.metadata.uid, "$deleteFromPrimitiveList/finalizers": [FINALIZER]}}
    return _patch(claim, body)


def _patch(claim: ResourceClaim, body: Any, *, subresource: str = "") -> Patch:  # a strategic patch
    meta = claim.metadata
    return Patch(resource=CLAIMS, namespace=meta.namespace, name=meta.name, subresource=subresource, body=body)


def _json_patch(claim: ResourceClaim, operations: list[Any]) -> Patch:  # JSON
    meta = claim.metadata
    same = {"op": "test", "path": "/metadata/uid", "value": meta.uid}
    return Patch(
        resource=CLAIMS,
        namespace=meta.namespace,
        name=meta.name,
        subresource="status",
        body=[same, *operations],
        type=PatchType.JSON,
    )


def _document(consumer: ClaimConsumer) -> dict[str, str]:
    named = {"apiGroup": consumer.api_group, "resource": consumer.resource, "name": consumer.name, "uid": consumer.uid}
    return {key: value for key, value in named.items() if value}


def _reference(pod: Pod) -> ObjectReference:
    meta = pod.metadata
    return ObjectReference(kind="Pod", api_version="v1", namespace=meta.namespace, name=meta.name, uid=meta.uid)
