"""Law: a shortcut comes to what the long way comes to, whatever admission plugins are on.

Two control planes are told the same, in the same order. One may take shortcuts (`registry/fastpath/shortcuts.py`), the
other goes the long way with every write. Objects, watch events, warnings and errors must be the same but for what is
drawn at random.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.admission.chain import ORDER
from doorman.api.views.resource.resource_claims import CLAIMS, FINALIZER
from doorman.api.well_known import LEASES, NODE_LEASE_NAMESPACE
from doorman.base.errors import ApiError
from doorman.client.actions import Bind, Create, Delete, Patch, PatchType, Renew
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.streams import Stream
from doorman.runtime.in_process.kubelet_client import KubeletClient
from support.api import Api, running_api

Step = Callable[[Api, list[str]], Awaitable[Any]]
PODS = "/api/v1/namespaces/default/pods"
MAPPING = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "r"}
NODES = ("n1", "n2")
WATCHED = ("pods", "events", LEASES, CLAIMS)
RANDOM = re.compile(r"kube-api-access-[a-z0-9]{5}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
POLICY = {
    "matchConstraints": {
        "resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]
    },
    "validations": [{"expression": "object == null || !object.metadata.name.startsWith('bad')"}],
}


def _pod(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    head = {"generateName": name} if name.endswith("-") else {"name": name}
    return {"metadata": {**head, "labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def _created(name: str, spec: dict[str, Any]) -> Step:
    async def step(api: Api, names: list[str]) -> Any:
        answer = await api.answer("POST", PODS, _pod(name, spec))
        body = json.loads(b"".join(answer.body) if isinstance(answer.body, list) else answer.body)
        if answer.status == 201:
            names.append(body["metadata"]["name"])
        return answer.status, body, sorted(value for head, value in answer.headers if head == "Warning")

    return step


def _created_alike(alike: list[str], spec: dict[str, Any]) -> Step:
    """The later ones are made of what became of the first, where they may be."""

    async def step(api: Api, names: list[str]) -> Any:
        return [await _created(name, spec)(api, names) for name in alike]

    return step


def _patched(who: str, index: int, status: dict[str, Any]) -> Step:
    async def step(api: Api, names: list[str]) -> Any:
        client = api.cluster.client_as(who, "m", *(("system:nodes",) if "node" in who else ("system:masters",)))
        patch = Patch(resource="pods", namespace="default", name=_name(names, index), subresource="status",
                      body={"status": status}, type=PatchType.STRATEGIC)  # fmt: skip
        return (await client.patch(patch)).document()

    return step


def _applied(who: str, index: int, claims: list[dict[str, str]]) -> Step:
    async def step(api: Api, names: list[str]) -> Any:
        client = api.cluster.client_as("admin", "m", "system:masters")
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "status": {"resourceClaimStatuses": claims}}
        patch = Patch(resource="pods", namespace="default", name=_name(names, index), subresource="status",
                      body=body, type=PatchType.APPLY, manager=who)  # fmt: skip
        return (await client.patch(patch)).document()

    return step


def _allocated(who: str, index: int, subresource: str, metadata: dict[str, Any], given: dict[str, Any]) -> Step:
    async def step(api: Api, names: list[str]) -> Any:
        client = api.cluster.client_as(who, "m", "system:masters")
        body = {"metadata": metadata} if not subresource else {"metadata": {}, "status": given}
        patch = Patch(resource=CLAIMS, namespace="default", name=f"claim-{index}", subresource=subresource, body=body)
        return (await client.patch(patch)).document()

    return step


def _claimed(name: str, owner: dict[str, Any], spec: dict[str, Any], labels: dict[str, str] | None) -> Step:
    async def step(api: Api, names: list[str]) -> Any:
        head = {"generateName": name} if name.endswith("-") else {"name": name}
        metadata = {**head, "ownerReferences": [owner], **({"labels": labels} if labels is not None else {})}
        body = {"metadata": metadata, "spec": spec}
        stored = await api.admin.create(Create(resource=CLAIMS, namespace="default", body=body))
        names.append(stored.view.metadata.name)
        return stored.document()

    return step


def _bound(index: int, node: str) -> Step:
    async def step(api: Api, names: list[str]) -> Any:
        await api.admin.bind(Bind(namespace="default", name=_name(names, index), uid="", node=node))

    return step


def _deleted(index: int, seconds: int | None) -> Step:
    async def step(api: Api, names: list[str]) -> Any:
        await api.admin.delete(
            Delete(resource="pods", namespace="default", name=_name(names, index), grace_seconds=seconds)
        )

    return step


def _evicted(index: int, uid: str, seconds: int | None, condition: dict[str, Any]) -> Step:
    async def step(api: Api, names: list[str]) -> Any:
        why = {"metadata": {"uid": uid} if uid else {}, "status": {"conditions": [condition]}}
        await api.admin.delete(
            Delete(
                resource="pods", namespace="default", name=_name(names, index), grace_seconds=seconds, uid=uid,
                status_patch=why,
            )
        )  # fmt: skip

    return step


def _renewed() -> Step:
    async def step(api: Api, names: list[str]) -> Any:
        kubelets = KubeletClient(api.cluster.cache, api.cluster.api.kubelet_client, api.cluster.registry.lease_renewals)
        api.clock.advance_to(api.clock.now() + 10.0)
        await kubelets.renew(Renew(nodes=NODES, at=api.clock.now()))

    return step


def _told(message: str) -> Step:
    async def step(api: Api, names: list[str]) -> Any:
        body = {
            "metadata": {"name": f"e-{len(message)}-{message}"}, "involvedObject": {"namespace": "default"},
            "reason": "R", "message": message, "type": "Normal", "count": len(message),
        }  # fmt: skip
        return (await api.admin.create(Create(resource="events", namespace="default", body=body))).document()

    return step


def _name(names: list[str], index: int) -> str:
    return names[index % len(names)] if names else "none"


_SPECS = st.sampled_from(
    [
        {},
        {"tolerations": [{"key": "k", "operator": "Exists"}]},
        {"priorityClassName": "nope"},
        {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
        {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
        {"containers": [{"name": "C"}]},
    ]
)
_CONDITIONS = st.sampled_from(
    [
        {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "A"}]},
        {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "B", "message": "m"}]},
        {"phase": "Running", "podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}]},
        {"phase": "nonsense"},
        {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "x"}]},
        {"resourceClaimStatuses": [{"name": "b"}, {"name": "a", "resourceClaimName": "y"}]},
        {"extendedResourceClaimStatus": {"resourceClaimName": "x", "requestMappings": [MAPPING]}},
    ]
)
_CLAIMS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("ab")}, optional={"resourceClaimName": st.sampled_from("xy")}),
    max_size=2,
)
_NAMED = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
_RESULT = {"request": "r", "driver": "d", "pool": "p", "device": "x"}
_RESERVED = [{"resource": "pods", "name": "a", "uid": "u-1"}]
_GIVEN = st.sampled_from(
    [
        {"allocation": {"devices": {"results": [_RESULT]}}, "reservedFor": _RESERVED},
        {
            "allocation": {
                "devices": {"results": [{**_RESULT, "consumedCapacity": {"m": "1"}}]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [_NAMED]}]},
                "allocationTimestamp": "2026-01-01T00:00:00Z",
            },
            "reservedFor": [{"resource": "pods", "name": "b", "uid": "u-2"}],
        },
        {"reservedFor": [{"resource": "pods", "name": "c", "uid": "u-3"}]},
        {"allocation": {"devices": {"results": [{**_RESULT, "adminAccess": True}]}}, "reservedFor": _RESERVED},
        {"allocation": None, "reservedFor": None},
    ]
)
_OWNERS = st.builds(
    lambda name, uid, more: {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, **more},
    st.sampled_from(["a", "b", "", "-"]),
    st.sampled_from(["2c5b4f0e-0d9c-4a3e-9a3e-000000000001", "2c5b4f0e-0d9c-4a3e-9a3e-000000000002", "u", "f"]),
    st.sampled_from([{}, {"controller": True}, {"controller": False}]),
)
_CLAIM_SPECS = st.sampled_from(
    [
        {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
        {"devices": {"requests": [{"name": "R", "exactly": {"deviceClassName": "c"}}]}},
        {"devices": {}},
    ]
)
_CLAIM_METADATA = st.sampled_from(
    [
        {"uid": "", "finalizers": [FINALIZER]},
        {"uid": "another", "finalizers": [FINALIZER]},
        {"uid": "", "finalizers": ["example.com/one", FINALIZER]},
        {"finalizers": None},
    ]
)
_STEPS = st.lists(
    st.one_of(
        st.builds(_created, st.sampled_from(["a", "bad", "B!"]), _SPECS),
        st.builds(
            _created_alike,
            st.sampled_from([["web-", "web-"], ["a", "a"], ["a", "b.c", "B!"], ["b", "bad", "c"]]),
            _SPECS,
        ),
        st.builds(
            _patched, st.sampled_from(["admin", "system:node:n1", "system:node:n2"]), st.integers(0, 1), _CONDITIONS
        ),
        st.builds(_applied, st.sampled_from(["c", "d"]), st.integers(0, 1), _CLAIMS),
        st.builds(
            _allocated,
            st.sampled_from(["admin", "system:kube-scheduler"]),
            st.integers(0, 1),
            st.sampled_from(["", "status"]),
            _CLAIM_METADATA,
            _GIVEN,
        ),
        st.builds(
            _claimed,
            st.sampled_from(["web-", "web-a-", "c-9", "C!"]),
            _OWNERS,
            _CLAIM_SPECS,
            st.sampled_from([None, {}, {"a": "b"}]),
        ),
        st.builds(_bound, st.integers(0, 1), st.sampled_from(NODES)),
        st.builds(_deleted, st.integers(0, 1), st.sampled_from([None, 0, 5])),
        st.builds(
            _evicted,
            st.integers(0, 1),
            st.sampled_from(["", "", "other"]),
            st.sampled_from([None, 0, 5]),
            st.sampled_from(
                [
                    {"type": "DisruptionTarget", "status": "True", "reason": "A"},
                    {"type": "DisruptionTarget", "status": "nonsense", "reason": "A"},
                ]
            ),
        ),
        st.builds(_renewed),
        st.builds(_told, st.sampled_from(["a", "bb"])),
    ),
    min_size=1,
    max_size=10,
)
_PLUGINS = st.sets(st.sampled_from(sorted(ORDER)), max_size=len(ORDER))


@settings(max_examples=60, deadline=None)
@given(steps=_STEPS, disabled=_PLUGINS, has_policy=st.booleans())
def test_shortcut_and_long_way_come_to_the_same(steps: list[Step], disabled: set[str], has_policy: bool) -> None:
    short = asyncio.run(_run(steps, sorted(disabled), has_policy, takes_shortcuts=True))
    long = asyncio.run(_run(steps, sorted(disabled), has_policy, takes_shortcuts=False))
    assert short == long


async def _run(steps: list[Step], disabled: list[str], has_policy: bool, *, takes_shortcuts: bool) -> list[Any]:
    async with running_api(disable_admission_plugins=tuple(disabled), takes_shortcuts=takes_shortcuts) as api:
        await _prepare(api, has_policy)
        streams = [_stream(api, storage) for storage in WATCHED]
        names = ["first"]
        history: list[Any] = []
        for step in steps:
            try:
                outcome = await step(api, names)
            except ApiError as error:
                outcome = (error.code, error.reason, error.message, [cause.message for cause in error.causes])
            history.append(outcome)
            for stream in streams:
                history += [(str(event.type), event.object.document()) for event in stream.take()]
        return _comparable(history, names)


async def _prepare(api: Api, has_policy: bool) -> None:
    await api.given_account("default")
    for node in NODES:
        await api.given("nodes", {"metadata": {"name": node, "labels": {"topology.kubernetes.io/zone": "z"}}})
        client = api.cluster.api.kubelet_client(node)
        body = {
            "metadata": {"name": node},
            "spec": {"holderIdentity": node, "renewTime": "2026-01-01T00:00:00.000000Z"},
        }
        await client.create(Create(resource=LEASES, namespace=NODE_LEASE_NAMESPACE, body=body))
    await api.given("pods", _pod("first", {}), namespace="default")
    for index in (0, 1):
        request = {"name": "r", "exactly": {"deviceClassName": "c"}}
        claim = {"metadata": {"name": f"claim-{index}"}, "spec": {"devices": {"requests": [request]}}}
        await api.given(CLAIMS, claim, namespace="default")
    await api.admin.bind(Bind(namespace="default", name="first", uid="", node="n1"))
    if has_policy:
        group = "admissionregistration.k8s.io"
        await api.given(f"validatingadmissionpolicies.{group}", {"metadata": {"name": "p"}, "spec": POLICY})
        binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
        await api.given(f"validatingadmissionpolicybindings.{group}", binding)


def _stream(api: Api, storage: str) -> Stream:
    return api.cluster.cache.collection(storage).follow(Selection(storage=storage), None)


def _comparable(history: list[Any], names: list[str]) -> list[Any]:
    """Without what is drawn at random: uids, names of volumes, and names that were generated, which are numbered."""
    text = RANDOM.sub("random", json.dumps(history, sort_keys=True))
    for number, name in enumerate(names):
        if name.startswith("web-"):
            text = text.replace(name, f"web-{number}")
    return list(json.loads(text))
