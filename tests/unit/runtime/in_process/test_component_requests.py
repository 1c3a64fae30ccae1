"""What components may ask is asked once, until roles change; what they ask is counted."""

import pytest

from doorman.api.identity import AUTHENTICATED, User
from doorman.api.kinds import builtin_kinds
from doorman.base.clock import ManualClock
from doorman.base.errors import ApiError
from doorman.client.actions import Create, Delete
from doorman.runtime.in_process import component_requests
from doorman.runtime.in_process.component_requests import ComponentRequests
from doorman.server.auth.authorization import Authorizer
from doorman.server.auth.rbac_authorizer import Decision
from doorman.server.request import RequestInfo
from doorman.server.request_metrics import RequestMetrics
from support.cluster import Story, run_story


class Asked:
    """A decider that keeps what it was asked, and allows what it is told to."""

    def __init__(self, *allowed: tuple[str, str]) -> None:
        self.allowed = set(allowed)
        self.questions: list[tuple[str, str]] = []
        self.edition = 0

    def decide(self, _user: User, info: RequestInfo) -> Decision:
        self.questions.append((info.verb, info.name))
        return Decision((info.verb, info.name) in self.allowed or (info.verb, "*") in self.allowed)


def requests_of(decider: Asked, name: str = "component", *groups: str) -> ComponentRequests:
    user = User(name=name, groups=(*groups, AUTHENTICATED))
    return ComponentRequests(user, Authorizer([decider]), decider, RequestMetrics(builtin_kinds()), ManualClock())


PODS = builtin_kinds().named("pods")


def test_what_may_be_done_with_every_object_is_asked_once() -> None:
    decider = Asked(("delete", "*"))
    requests = requests_of(decider)
    for name in ("a", "b", "c"):
        requests.authorize("delete", PODS, "default", name)
    assert decider.questions == [("delete", "")]


def test_other_namespace_is_another_question() -> None:
    decider = Asked(("delete", "*"))
    requests = requests_of(decider)
    requests.authorize("delete", PODS, "default", "a")
    requests.authorize("delete", PODS, "other", "a")
    assert len(decider.questions) == 2


def test_right_to_one_object_is_no_right_to_another() -> None:
    decider = Asked(("delete", "mine"))
    requests = requests_of(decider)
    for _ in range(2):
        requests.authorize("delete", PODS, "default", "mine")
        with pytest.raises(ApiError, match='pods "theirs" is forbidden'):
            requests.authorize("delete", PODS, "default", "theirs")


def test_changed_roles_are_asked_again() -> None:
    decider = Asked(("delete", "*"))
    requests = requests_of(decider)
    requests.authorize("delete", PODS, "default", "a")
    decider.allowed.clear()
    decider.edition += 1
    with pytest.raises(ApiError, match="forbidden"):
        requests.authorize("delete", PODS, "default", "a")


def test_patch_is_granted_to_who_may_update() -> None:
    requests_of(Asked(("update", "*"))).authorize("patch", PODS, "default", "a", "status")


def test_kubelet_is_looked_at_every_time() -> None:
    decider = Asked(("get", "*"))
    requests = requests_of(decider, "system:node:n1", "system:nodes")
    for name in ("a", "b"):
        requests.authorize("get", PODS, "default", name)
    assert decider.questions == [("get", "a"), ("get", "b")]


def test_no_more_is_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component_requests, "GRANTED_MAX", 2)
    decider = Asked(("delete", "*"))
    requests = requests_of(decider)
    for namespace in ("a", "b", "c"):
        requests.authorize("delete", PODS, namespace, "x")
    assert len(requests._granted) <= 2


def test_deleted_binding_ends_the_right_at_once() -> None:
    async def story(cluster: Story) -> None:
        client = cluster.cluster.client_as("system:serviceaccount:kube-system:node-controller", "test")
        await cluster.given_pod("first")
        await cluster.given_pod("second")
        await client.delete(Delete(resource="pods", namespace="default", name="first"))
        binding = "system:controller:node-controller"
        await cluster.client.delete(Delete(resource="clusterrolebindings.rbac.authorization.k8s.io", name=binding))
        with pytest.raises(ApiError, match='pods "second" is forbidden'):
            await client.delete(Delete(resource="pods", namespace="default", name="second"))

    run_story(story)


def test_requests_are_counted_by_what_became_of_them() -> None:
    async def story(cluster: Story) -> None:
        counted = cluster.cluster.api.request_metrics
        body = {"metadata": {"name": "twice"}}
        await cluster.client.create(Create(resource="configmaps", namespace="default", body=body))
        with pytest.raises(ApiError):
            await cluster.client.create(Create(resource="configmaps", namespace="default", body=body))
        total, _ = counted.collect()
        codes = {
            sample.labels["code"]: sample.value
            for sample in total.samples
            if (sample.labels["verb"], sample.labels["resource"]) == ("POST", "configmaps")
        }
        assert codes["409"] == 1
        assert codes["201"] >= 1

    run_story(story, nodes=0)
