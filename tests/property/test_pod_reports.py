"""Law: a report that goes the short way leaves the pod as the long way does, also if it was made of another before."""

import asyncio
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.base.errors import ApiError
from doorman.client.actions import Bind, Patch
from support.api import Api, running_api

MANAGERS = ("scheduler", "evictor", "kubelet")
TIMES = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z")


def _conditions() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.sampled_from(["PodScheduled", "DisruptionTarget"]), "status": st.sampled_from(["True", "False"])},
        optional={
            "reason": st.sampled_from(["A", "B"]),
            "message": st.sampled_from(["", 'a "quoted" word', "k:{}"]),
            "lastTransitionTime": st.sampled_from(TIMES),
            "lastProbeTime": st.just(None),
            "observedGeneration": st.integers(1, 2),
        },
    )


_CONTAINERS = [
    {
        "name": "c", "image": "i", "imageID": "i", "containerID": "x://1", "ready": True, "started": True,
        "restartCount": 0, "state": {"running": {"startedAt": TIMES[0]}}, "lastState": {},
    }
]  # fmt: skip
_TYPES = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def _kubelets() -> st.SearchStrategy[dict[str, Any]]:
    """What kubelets say of a pod, in parts."""
    said = st.lists(st.sampled_from(_TYPES), unique=True, max_size=4)
    return st.fixed_dictionaries(
        {"conditions": said.map(lambda types: [{"type": one, "status": "True"} for one in types])},
        optional={
            "phase": st.sampled_from(["Running", "Failed"]),
            "reason": st.sampled_from(["A", None]),
            "hostIP": st.just("10.0.0.1"),
            "hostIPs": st.just([{"ip": "10.0.0.1"}]),
            "podIP": st.sampled_from(["10.1.0.1", "10.1.0.2"]),
            "podIPs": st.sampled_from([[{"ip": "10.1.0.1"}], [{"ip": "10.1.0.2"}, {"ip": "fd00::1"}]]),
            "startTime": st.sampled_from(TIMES),
            "observedGeneration": st.integers(1, 2),
            "containerStatuses": st.sampled_from([_CONTAINERS, [{**_CONTAINERS[0], "ready": False}]]),
        },
    )


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(MANAGERS),
        st.one_of(_conditions(), _kubelets()),
        st.sampled_from(["", "all", "uid", "n1", "n2", "nowhere"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=40, deadline=None)
@given(steps=_STEPS, is_bound=st.booleans(), ready=st.booleans(), is_tracked=st.booleans())
def test_short_way_and_long_way_agree(
    steps: list[tuple[str, dict[str, Any], str, bool]], is_bound: bool, ready: bool, is_tracked: bool
) -> None:
    asyncio.run(_agree(steps, is_bound, ready, is_tracked))


async def _agree(
    steps: list[tuple[str, dict[str, Any], str, bool]], is_bound: bool, ready: bool, is_tracked: bool
) -> None:
    async with running_api() as api:
        await api.given_account("default")
        for name in ("short", "alike", "long"):
            body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            await api.given("pods", body, namespace="default")
            if is_bound:
                await api.admin.bind(Bind(namespace="default", name=name, uid="", node="n"))
            if ready:
                said = {"conditions": [{"type": "Ready", "status": "True"}], "podIPs": [{"ip": "10.0.0.1"}]}
                await _long(api, name, "kubelet", {"status": {"phase": "Running", **said}})
            if not is_tracked:
                await _untrack(api, name)
        for manager, said, extra, moves in steps:
            if moves:
                api.clock.advance_to(api.clock.now() + 61.0)
            codes = (
                await _short(api, "short", manager, await _body(api, "short", said, extra)),
                await _short(api, "alike", manager, await _body(api, "alike", said, extra)),
                await _long(api, "long", manager, await _body(api, "long", said, extra)),
            )
            assert codes in ((200, 200, 200), (422, 422, 422))
            assert await _shown(api, "short") == await _shown(api, "long")
            assert await _shown(api, "alike") == await _shown(api, "long")


async def _untrack(api: Api, name: str) -> None:
    """From then on nobody owns its fields."""
    path, headers = f"/api/v1/namespaces/default/pods/{name}", {"content-type": "application/merge-patch+json"}
    status, pod = await api.call("PATCH", path, {"metadata": {"managedFields": [{}]}}, headers=headers)
    assert (status, "managedFields" in pod["metadata"]) == (200, False)


async def _body(api: Api, name: str, said: dict[str, Any], extra: str) -> dict[str, Any]:
    """One condition with something beside it, or what a kubelet says."""
    if "conditions" in said:
        return {"status": said}
    condition = said
    status: dict[str, Any] = {"conditions": [condition]}
    _, pod = await api.call("GET", f"/api/v1/namespaces/default/pods/{name}")
    if extra in ("n1", "n2", "nowhere") and "nodeName" not in pod["spec"]:
        status["nominatedNodeName"] = None if extra == "nowhere" else extra
    if extra == "all":
        types = [one["type"] for one in pod["status"].get("conditions", ())]
        order = types if condition["type"] in types else [*types, condition["type"]]
        status["$setElementOrder/conditions"] = [{"type": one} for one in order]
    return {"status": status, **({"metadata": {"uid": pod["metadata"]["uid"]}} if extra == "uid" else {})}


async def _short(api: Api, name: str, manager: str, body: dict[str, Any]) -> int:
    client = api.cluster.client_as("admin", manager, "system:masters")
    try:
        await client.patch(Patch(resource="pods", namespace="default", name=name, subresource="status", body=body))
    except ApiError as refusal:
        return refusal.code
    return 200


async def _long(api: Api, name: str, manager: str, body: dict[str, Any]) -> int:
    path = f"/api/v1/namespaces/default/pods/{name}/status?fieldManager={manager}"
    headers = {"content-type": "application/strategic-merge-patch+json"}
    status, _ = await api.call("PATCH", path, body, headers=headers)
    return status


async def _shown(api: Api, name: str) -> Any:
    _, pod = await api.call("GET", f"/api/v1/namespaces/default/pods/{name}")
    for own in ("name", "uid", "resourceVersion"):
        del pod["metadata"][own]
    for volume in pod["spec"]["volumes"]:
        volume["name"] = ""
    for container in pod["spec"]["containers"]:
        for mount in container["volumeMounts"]:
            mount["name"] = ""
    return json.loads(json.dumps(pod))
