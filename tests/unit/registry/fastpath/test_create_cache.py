"""Pods and events that are alike come out alike, and only as long as what admission looked up is unchanged."""

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorman.base.clock import ManualClock
from doorman.base.errors import ApiError
from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.registry.cache.stored_object import Stored
from doorman.registry.fastpath.create_cache import _is_name_of_object, _without_name
from doorman.runtime.api_server import ApiServer
from doorman.runtime.control_plane import ControlPlane
from doorman.runtime.settings import Settings
from doorman.store.sqlite_store import SqliteStore
from support.api import Api, running_api
from support.cluster import Story, run_story

Document = dict[str, Any]

SPEC: Document = {
    "containers": [{"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "100m"}}}],
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
}


async def make(story: Story, **metadata: Any) -> Stored:
    body = {"metadata": metadata, "spec": copy.deepcopy(SPEC)}
    return await story.client.create(Create(resource="pods", namespace="default", body=body))


def entries(story: Story) -> list[bytes]:
    return list(story.cluster.registry._create_cache._entries)


def without_names(stored: Stored) -> Document:
    doc = stored.document()
    for field in ("name", "uid", "resourceVersion"):
        assert doc["metadata"].pop(field)
    for volume in doc["spec"]["volumes"]:
        assert volume.pop("name").startswith("kube-api-access-")
    for container in doc["spec"]["containers"]:
        for mount in container["volumeMounts"]:
            mount.pop("name")
    return doc


@pytest.mark.parametrize(
    "metadata",
    [
        {"generateName": "web-"},
        {"generateName": "web-", "labels": {"app": "web"}, "annotations": {"time": "2026-01-01T00:00:00Z", "a": 'b"c'}},
    ],
    ids=["bare", "labelled"],
)
def test_second_pod_is_what_the_first_one_is(metadata: Document) -> None:
    async def story(cluster: Story) -> None:
        first = await make(cluster, **metadata)
        kept = entries(cluster)
        second = await make(cluster, **metadata)
        assert kept
        assert entries(cluster) == kept, "the second one took the pattern of the first"
        assert without_names(second) == without_names(first)
        assert (first.name, first.view.metadata.uid) != (second.name, second.view.metadata.uid)

    run_story(story, nodes=0)


def test_each_pod_draws_the_name_of_its_token_volume() -> None:
    async def story(cluster: Story) -> None:
        drawn = []
        for _ in range(3):
            spec = (await make(cluster, generateName="web-")).document()["spec"]
            (volume,) = spec["volumes"]
            assert [mount["name"] for mount in spec["containers"][0]["volumeMounts"]] == [volume["name"]]
            drawn.append(volume["name"])
        assert len(entries(cluster)) == 1
        assert len(set(drawn)) == 3

    run_story(story, nodes=0)


def test_times_are_those_of_each_pod() -> None:
    async def story(cluster: Story) -> None:
        first = await make(cluster, generateName="web-")
        await cluster.advance(90)
        second = await make(cluster, generateName="web-")
        for stored in (first, second):
            metadata = stored.document()["metadata"]
            assert metadata["managedFields"][0]["time"] == metadata["creationTimestamp"]
        assert first.view.metadata.creation_timestamp != second.view.metadata.creation_timestamp

    run_story(story, nodes=0)


def test_own_names_share_a_pattern_and_are_checked_each() -> None:
    async def story(cluster: Story) -> None:
        await make(cluster, name="a")
        assert (await make(cluster, name="b")).name == "b"
        assert len(entries(cluster)) == 1
        with pytest.raises(ApiError, match="Invalid value"):
            await make(cluster, name="Not_A_Name")
        with pytest.raises(ApiError, match="already exists"):
            await make(cluster, name="a")

    run_story(story, nodes=0)


def test_what_admission_looked_up_counts() -> None:
    async def story(cluster: Story) -> None:
        async def cpu_limit() -> object:
            made = await make(cluster, generateName="web-")
            return made.document()["spec"]["containers"][0]["resources"].get("limits")

        assert await cpu_limit() is None
        assert await cpu_limit() is None
        limits = [{"type": "Container", "default": {"memory": "64Mi"}}]
        body = {"metadata": {"name": "l"}, "spec": {"limits": limits}}
        await cluster.client.create(Create(resource="limitranges", namespace="default", body=body))
        assert await cpu_limit() == {"memory": "64Mi"}
        await cluster.client.delete(Delete(resource="limitranges", namespace="default", name="l"))
        assert await cpu_limit() is None

        account = {"automountServiceAccountToken": False}
        await cluster.client.patch(
            Patch(resource="serviceaccounts", namespace="default", name="default", body=account, type=PatchType.MERGE)
        )
        assert "volumes" not in (await make(cluster, generateName="web-")).document()["spec"]

    run_story(story, nodes=0)


def test_quota_is_counted_for_every_pod() -> None:
    async def story(cluster: Story) -> None:
        body = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
        await cluster.client.create(Create(resource="resourcequotas", namespace="default", body=body))
        for _ in range(2):
            await make(cluster, generateName="web-")
        with pytest.raises(ApiError, match="exceeded quota"):
            await make(cluster, generateName="web-")

    run_story(story, nodes=0)


async def test_burst_on_its_way_to_the_disk_counts_for_quotas(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    settings, clock = Settings(seed=7, nodes=0), ManualClock()
    cluster = ControlPlane(ApiServer(store, settings, clock), settings, clock)
    await cluster.prepare(port=6443, ca_certificate=b"")
    client = cluster.client_as("admin", "test", "system:masters")
    await client.create(Create(resource="serviceaccounts", namespace="default", body={"metadata": {"name": "default"}}))
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "3"}}}
    await client.create(Create(resource="resourcequotas", namespace="default", body=quota))

    async def make_one() -> str:
        body = {"metadata": {"generateName": "web-"}, "spec": copy.deepcopy(SPEC)}
        try:
            await client.create(Create(resource="pods", namespace="default", body=body))
        except ApiError as error:
            return error.reason
        return ""

    made = await asyncio.gather(*(make_one() for _ in range(10)))
    await cluster.stop()
    assert sorted(made) == [""] * 3 + ["Forbidden"] * 7


def test_expression_that_reads_the_name_is_asked_every_time() -> None:
    async def story(cluster: Story) -> None:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
        policy = {
            "metadata": {"name": "p"},
            "spec": {
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": "object.metadata.name != 'bad'"}],
            },
        }
        binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
        group = "admissionregistration.k8s.io"
        await cluster.client.create(Create(resource=f"validatingadmissionpolicies.{group}", body=policy))
        await cluster.client.create(Create(resource=f"validatingadmissionpolicybindings.{group}", body=binding))
        await make(cluster, name="good")
        assert not entries(cluster)
        with pytest.raises(ApiError, match="denied request"):
            await make(cluster, name="bad")

    run_story(story, nodes=0)


def test_gated_pod_says_when_it_was_gated() -> None:
    async def story(cluster: Story) -> None:
        spec = {**copy.deepcopy(SPEC), "schedulingGates": [{"name": "example.com/wait"}]}
        for _ in range(2):
            body = {"metadata": {"generateName": "g-"}, "spec": spec}
            made = await cluster.client.create(Create(resource="pods", namespace="default", body=body))
            doc = made.document()
            assert doc["status"]["conditions"][0]["lastTransitionTime"] == doc["metadata"]["creationTimestamp"]
            await cluster.advance(30)

    run_story(story, nodes=0)


def test_nothing_is_kept_of_a_very_large_pod() -> None:
    async def story(cluster: Story) -> None:
        await make(cluster, generateName="web-", annotations={"note": "x" * 100_000})
        assert not entries(cluster)

    run_story(story, nodes=0)


async def tell(story: Story, name: str, *, namespace: str = "default", **members: Any) -> Document:
    about = {"kind": "Pod", "namespace": namespace, "name": name, "apiVersion": "v1"}
    body = {
        "metadata": {"name": name, "namespace": namespace}, "involvedObject": about, "reason": "Seen",
        "message": f"a message of {name}", "source": {"component": "me"}, "type": "Normal", **members,
    }  # fmt: skip
    return (await story.client.create(Create(resource="events", namespace=namespace, body=body))).document()


def test_event_of_the_same_shape_says_its_own() -> None:
    async def story(cluster: Story) -> None:
        first = await tell(cluster, "a")
        kept = entries(cluster)
        await cluster.advance(60)
        second = await tell(cluster, "b", message='quoted "words"')
        assert entries(cluster) == kept, "the second one took the pattern of the first"
        assert (second["metadata"]["name"], second["message"]) == ("b", 'quoted "words"')
        assert second["involvedObject"]["name"] == "b"
        assert set(second) == set(first)
        assert set(second["metadata"]) == set(first["metadata"])
        owners = [doc["metadata"]["managedFields"] for doc in (first, second)]
        assert owners[0][0]["fieldsV1"] == owners[1][0]["fieldsV1"]
        assert owners[1][0]["time"] == second["metadata"]["creationTimestamp"] != owners[0][0]["time"]

    run_story(story, nodes=0)


def test_event_of_another_shape_has_other_fields() -> None:
    async def story(cluster: Story) -> None:
        plain = await tell(cluster, "a")
        counted = await tell(cluster, "b", count=3)
        fields = [doc["metadata"]["managedFields"][0]["fieldsV1"] for doc in (plain, counted)]
        assert ["f:count" in one for one in fields] == [False, True]

    run_story(story, nodes=0)


def test_every_event_is_checked() -> None:
    async def story(cluster: Story) -> None:
        await tell(cluster, "a")
        with pytest.raises(ApiError, match="already exists"):
            await tell(cluster, "a")
        with pytest.raises(ApiError, match="is invalid"):
            await tell(cluster, "no/name")
        with pytest.raises(ApiError, match="does not match event"):
            await tell(cluster, "c", involvedObject={"kind": "Pod", "namespace": "x", "name": "p", "apiVersion": "v1"})
        await cluster.client.create(Create(resource="namespaces", body={"metadata": {"name": "brief"}}))
        await tell(cluster, "d", namespace="brief")
        await tell(cluster, "e", namespace="brief")
        await cluster.client.delete(Delete(resource="namespaces", name="brief"))
        with pytest.raises(ApiError, match="brief"):
            await tell(cluster, "f", namespace="brief")

    run_story(story, nodes=0)


PODS = "/api/v1/namespaces/default/pods"


def bodies(api: Api) -> int:
    return len(api.cluster.registry._create_cache._bodies)


async def test_what_is_sent_again_in_the_same_bytes_comes_out_alike() -> None:
    async with running_api() as api:
        await api.given_account("default")
        sent = {"metadata": {"generateName": "web-"}, "spec": SPEC}
        first, second, third = [(await api.call("POST", PODS, sent))[1] for _ in range(3)]
        assert bodies(api) == 1
        names = [made["metadata"]["name"] for made in (first, second, third)]
        assert len(set(names)) == 3
        for made in (first, second, third):
            assert made["metadata"]["name"].startswith("web-")
            for field in ("name", "uid", "resourceVersion"):
                del made["metadata"][field]
            (volume,) = made["spec"]["volumes"]
            assert made["spec"]["containers"][0]["volumeMounts"][0]["name"] == volume["name"]
            made["spec"]["volumes"] = made["spec"]["containers"][0]["volumeMounts"] = []
        assert first == second == third


@pytest.mark.parametrize(
    ("path", "metadata", "known"),
    [
        pytest.param(PODS, {"generateName": "web-"}, 1, id="prefix"),
        pytest.param(PODS, {"name": "web"}, 1, id="name"),
        pytest.param(PODS, {"name": "-"}, 0, id="name-as-in-the-gap"),
        pytest.param(PODS, {"labels": {"name": "web"}, "name": "web"}, 0, id="another-name-before"),
        pytest.param(PODS, {"annotations": {"name": "a"}, "generateName": "web-"}, 1, id="another-name-and-a-prefix"),
        pytest.param(PODS, {"generateName": "web-", "colour": "red"}, 0, id="warned-of"),
        pytest.param(f"{PODS}?dryRun=All", {"generateName": "web-", "resourceVersion": "7"}, 0, id="dry-run"),
    ],
)
async def test_bytes_that_are_known(path: str, metadata: Document, known: int) -> None:
    async with running_api() as api:
        await api.given_account("default")
        body = {"metadata": metadata, "spec": SPEC}
        answers = [await api.answer("POST", path, body) for _ in range(2)]
        assert bodies(api) == known
        warnings = [[value for name, value in answer.headers if name == "Warning"] for answer in answers]
        assert warnings[0] == warnings[1]
        if "resourceVersion" in metadata:
            assert (await api.answer("POST", PODS, body)).status == 500


async def test_what_is_sent_again_but_for_its_name_comes_out_alike() -> None:
    async with running_api() as api:
        await api.given_account("default")
        made = []
        for name in ("a", "bc", "a-much-longer-name"):
            _, answer = await api.call("POST", PODS, {"metadata": {"name": name}, "spec": SPEC})
            made.append(answer)
            assert answer["metadata"].pop("name") == name
        assert bodies(api) == 1
        for answer in made:
            del answer["metadata"]["uid"], answer["metadata"]["resourceVersion"]
            (volume,) = answer["spec"]["volumes"]
            assert answer["spec"]["containers"][0]["volumeMounts"][0]["name"] == volume["name"]
            answer["spec"]["volumes"] = answer["spec"]["containers"][0]["volumeMounts"] = []
        assert made[0] == made[1] == made[2]
        status, refused = await api.call("POST", PODS, {"metadata": {"name": "bc"}, "spec": SPEC})
        assert (status, refused["reason"]) == (409, "AlreadyExists")
        status, refused = await api.call("POST", PODS, {"metadata": {"name": "B c"}, "spec": SPEC})
        assert (status, refused["details"]["causes"][0]["field"]) == (422, "metadata.name")


@pytest.mark.parametrize("name", ["b.c", "b" * 64])
async def test_name_that_is_warned_of_is_warned_of_again(name: str) -> None:
    async with running_api() as api:
        await api.given_account("default")
        assert (await api.call("POST", PODS, {"metadata": {"name": "a"}, "spec": SPEC}))[0] == 201
        answer = await api.answer("POST", PODS, {"metadata": {"name": name}, "spec": SPEC})
        warnings = [value for header, value in answer.headers if header == "Warning"]
        assert answer.status == 201
        assert len(warnings) == 1
        assert "a DNS label is recommended" in warnings[0]


_NAMES = st.sampled_from(["a", "b", "b.c", "-", "B c", 'quo"ted', "bäh", "null"])
_PLACES = st.lists(
    st.tuples(st.sampled_from(["metadata", "spec", "labels"]), st.sampled_from(["name", "a"])), min_size=1, max_size=3
)


def _body(places: list[tuple[str, str]], names: list[str]) -> bytes:
    """JSON as a client could write it, members twice included."""
    members = [
        f'"{place}":{{{json.dumps(member)} :{json.dumps(value)}}}'
        for (place, member), value in zip(places, names, strict=False)
    ]
    return ("{" + ",".join(members) + "}").encode()


@given(places=_PLACES, first=st.lists(_NAMES, min_size=3), second=st.lists(_NAMES, min_size=3))
def test_bodies_with_the_same_gap_differ_in_the_name_alone(
    places: list[tuple[str, str]], first: list[str], second: list[str]
) -> None:
    bodies = (_body(places, first), _body(places, second))
    gaps = [_without_name(body) for body in bodies]
    if gaps[0][0] != gaps[1][0] or not _is_name_of_object(bodies[0], gaps[0][0]):
        return
    docs = [json.loads(body) for body in bodies]
    assert [doc["metadata"].pop("name") for doc in docs] == [name for _, name in gaps]
    assert docs[0] == docs[1]


async def test_bytes_of_somebody_else_are_read() -> None:
    async with running_api() as api:
        await api.given_account("default")
        body = {"metadata": {"generateName": "web-"}, "spec": SPEC}
        for headers in ({}, {"user-agent": "other/1"}, {"user-agent": "other/1"}):
            _, made = await api.call("POST", PODS, body, headers=headers)
            assert made["metadata"]["managedFields"][0]["manager"] == ("other" if headers else "unknown")
        assert bodies(api) == 2
