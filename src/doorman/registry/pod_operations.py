"""What only pods have: binding and eviction."""

from typing import Any

import msgspec

from doorman.admission.plugin_contract import Operation, RequestPreview
from doorman.api.machinery.label_selectors import selector_or_nothing
from doorman.api.views.meta import LabelSelector, to_view
from doorman.api.views.pods import Pod
from doorman.api.well_known import DISRUPTION_TARGET
from doorman.base.clock import Clock, Instant
from doorman.base.errors import (
    ApiError,
    Cause,
    GroupResource,
    bad_request,
    conflict,
    forbidden_request,
    too_many_requests,
)
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored
from doorman.registry.caller import Caller
from doorman.registry.deletion import DeleteOptions, check_options, check_preconditions
from doorman.registry.fastpath.object_bytes import ObjectBytes, read, written
from doorman.registry.fastpath.pod_bytes import set_node
from doorman.registry.object_identity import precondition_failed
from doorman.registry.registry import Registry
from doorman.registry.write_target import WriteTarget
from doorman.validation.pods.binding import check_binding

_BINDING = GroupResource("", "pods/binding")
_VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."


def success(code: int = 201) -> Document:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}


class PodOperations:
    def __init__(self, registry: Registry, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock
        self._pods = registry.kinds.named("pods")
        self._budgets = registry.kinds.named("poddisruptionbudgets.policy")

    async def bind(self, namespace: str, name: str, binding: Document, caller: Caller) -> Document:
        """Place a pod on a node, in one write."""
        metadata = binding.get("metadata", {})
        if metadata.get("name") != name:
            raise bad_request("name in URL does not match name in Binding object")
        check_binding(binding)
        preview = RequestPreview(user=caller.user, operation=Operation.CREATE, subresource="binding")
        if not self._registry.shortcuts.may_skip_admission(self._pods, preview):
            await self._registry.proposer.admit(WriteTarget(self._pods, namespace, name, "binding"), binding, caller)
        now = self._clock.now()

        def change(pod: Stored, pod_bytes: ObjectBytes) -> None:
            bind_to(pod.view, pod_bytes, binding, now)

        await self._registry.write_pod(WriteTarget(self._pods, namespace, name), change, caller)
        return success()

    async def evict(self, namespace: str, name: str, eviction: Document, caller: Caller) -> Document:
        """Delete a pod if its disruption budget allows."""
        metadata = eviction.get("metadata", {})
        if metadata.get("name") != name:
            raise bad_request("name in URL does not match name in Eviction object")
        options = msgspec.convert(eviction.get("deleteOptions", {}), DeleteOptions)
        if caller.dry_run and options.dry_run not in ((), ("All",)):
            asked = " ".join(options.dry_run)
            raise ApiError(500, "", f"Non-matching dry-run options in request and content: [All] and [{asked}]")
        pod = self._registry.get(self._pods, namespace, name).document()
        check_options(options)
        if caller.dry_run or options.dry_run:
            caller = msgspec.structs.replace(caller, dry_run=True)
        await self._registry.proposer.admit(WriteTarget(self._pods, namespace, name, "eviction"), eviction, caller)
        if not _ignores_budgets(pod):
            await self._take_from_budget(pod, namespace, caller)
        now = self._clock.now()
        wanted = options.preconditions

        def mark(_: Stored, pod_bytes: ObjectBytes) -> None:
            found = {"uid": pod_bytes.metadata.uid, "resourceVersion": pod_bytes.metadata.resource_version}
            check_preconditions(self._pods, name, {"metadata": found}, wanted)
            _mark_evicted(pod_bytes, now)

        target = WriteTarget(self._pods, namespace, name)
        marked = await self._registry.write_pod(target, mark, caller)
        if wanted.resource_version is not None:
            # It was so when the pod was marked, which made it another one.
            wanted = msgspec.structs.replace(wanted, resource_version=str(marked.revision))
            options = msgspec.structs.replace(options, preconditions=wanted)
        await self._registry.delete(target, options, caller)
        return success()

    async def _take_from_budget(self, pod: Document, namespace: str, caller: Caller) -> None:
        labels = pod["metadata"].get("labels", {})
        selection = Selection(storage=self._budgets.storage, namespace=namespace)
        matching = [
            budget
            for stored in self._registry.collection(self._budgets).select(selection)
            if _selects(budget := stored.document(), labels)
        ]
        if not matching:
            return
        if len(matching) > 1:
            text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise ApiError(500, "", text)
        name = matching[0]["metadata"]["name"]
        is_ready = any(
            c.get("type") == "Ready" and c.get("status") == "True"
            for c in (pod.get("status", {}).get("conditions") or ())
        )
        now = self._clock.now()

        def take(budget: Document) -> Document:
            if not is_ready and _lets_unhealthy_go(budget):
                return budget
            return decremented(budget, pod["metadata"]["name"], now)

        await self._registry.update(WriteTarget(self._budgets, namespace, name, "status"), take, caller)


def check_streamed(pod: Document, subresource: str, container: str) -> None:
    """Whether there is one container to talk to, on a node."""
    name, spec = pod["metadata"]["name"], pod.get("spec", {})
    if subresource in ("log", "exec", "attach"):
        names = [one["name"] for one in (spec.get("containers") or ())]
        first = [one["name"] for one in spec.get("initContainers", ())]
        others = [one["name"] for one in spec.get("ephemeralContainers", ())]
        if not container and len(names) != 1:
            text = f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
            if first:
                text += f" or one of the init containers: [{' '.join(first)}]"
            raise bad_request(text)
        if container and container not in (*names, *first, *others):
            raise bad_request(f"container {container} is not valid for pod {name}")
    if subresource in ("exec", "attach", "portforward") and not spec.get("nodeName"):
        raise bad_request(f"pod {name} does not have a host assigned")


def bind_to(pod: Pod, pod_bytes: ObjectBytes, binding: Document, now: Instant) -> None:
    """Put the pod on its node. Taints are not looked at, nor whether the node exists."""
    metadata = pod_bytes.metadata
    name = metadata.name
    wanted = binding.get("metadata", {})
    for field, label, found in (
        ("uid", "UID", metadata.uid),
        ("resourceVersion", "ResourceVersion", metadata.resource_version),
    ):
        if wanted.get(field) and wanted[field] != found:
            there = f"{label} in precondition: {wanted[field]}, {label} in object meta: {found}"
            why = precondition_failed(f"/pods/{pod.metadata.namespace}/{name}", there)
            raise conflict(GroupResource("", "pods"), name, why)
    if metadata.deletion_timestamp:
        raise conflict(_BINDING, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod.spec.node_name:
        raise conflict(_BINDING, name, f'pod {name} is already assigned to node "{pod.spec.node_name}"')
    if pod.spec.scheduling_gates:
        raise conflict(_BINDING, name, f"pod {name} has non-empty .spec.schedulingGates")
    set_node(pod_bytes, binding["target"]["name"])
    if wanted.get("annotations"):
        metadata.annotations = written({**read(metadata.annotations, {}), **wanted["annotations"]})
    if wanted.get("labels"):
        metadata.labels = written({**read(metadata.labels, {}), **wanted["labels"]})
    status = read(pod_bytes.status, {})
    status.pop("nominatedNodeName", None)
    set_condition(status, {"type": "PodScheduled", "status": "True"}, now)
    pod_bytes.status = written(status)


def set_condition(status: Document, condition: Document, now: Instant) -> None:
    """Put a condition in; its transition time changes only with its status."""
    conditions = list(status.get("conditions") or ())
    for i, found in enumerate(conditions):
        if found.get("type") == condition["type"]:
            same = found.get("status") == condition["status"]
            since = found.get("lastTransitionTime") if same else None
            conditions[i] = {**condition, "lastProbeTime": None, "lastTransitionTime": since or to_time(now)}
            break
    else:
        conditions.append({**condition, "lastProbeTime": None, "lastTransitionTime": to_time(now)})
    status["conditions"] = conditions


def _mark_evicted(pod_bytes: ObjectBytes, now: Instant) -> None:
    generation = pod_bytes.metadata.generation
    condition = {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "observedGeneration": generation if generation is not msgspec.UNSET else 0,
    }
    status = read(pod_bytes.status, {})
    set_condition(status, condition, now)
    pod_bytes.status = written(status)


def _ignores_budgets(pod: Document) -> bool:
    is_going = "deletionTimestamp" in pod["metadata"]
    return is_going or pod.get("status", {}).get("phase") in ("Pending", "Succeeded", "Failed")


def _selects(budget: Document, labels: dict[str, str]) -> bool:
    raw = budget.get("spec", {}).get("selector")
    if raw is None:
        return False
    return selector_or_nothing(to_view(raw, LabelSelector)).matches(labels)


def _lets_unhealthy_go(budget: Document) -> bool:
    if budget.get("spec", {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    desired = status.get("desiredHealthy", 0)
    return bool(status.get("currentHealthy", 0) >= desired > 0)


def decremented(budget: Document, pod: str, now: Instant) -> Document:
    """The budget with one disruption fewer, or 429."""
    metadata, status = budget["metadata"], dict(budget.get("status", {}))
    name = metadata["name"]
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        cause = _cause(f"The disruption budget {name} is still being processed by the server.")
        raise too_many_requests(_VIOLATES, retry_after_seconds=10, causes=[cause])
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise forbidden_request(
            GroupResource("policy", "poddisruptionbudget"), name, "pdb disruptions allowed is negative"
        )
    if allowed == 0:
        raise too_many_requests(_VIOLATES, causes=[_cause(_no_disruptions(name, status))])
    status["disruptionsAllowed"] = allowed - 1
    status["disruptedPods"] = {**status.get("disruptedPods", {}), pod: to_time(now)}
    return {**budget, "status": status}


def _no_disruptions(name: str, status: dict[str, Any]) -> str:  # a PodDisruptionBudgetStatus
    desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if healthy <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
    found = next((c for c in (status.get("conditions") or ()) if c.get("type") == "DisruptionAllowed"), None)
    head = f"The disruption budget {name} does not allow evicting pods currently"
    if found is None or found.get("status") == "True":
        return head
    if found.get("reason") == "SyncFailed":
        return f"{head} because it failed sync: {found.get('message', '')}"
    return f"{head} ({found.get('reason', '')}): {found.get('message', '')}"


def _cause(message: str) -> Cause:
    return Cause(reason="DisruptionBudget", message=message)
