"""The chain of authorizers, and how a refusal is said."""

import pytest

from doorman.api.identity import User
from doorman.base.errors import ApiError
from doorman.server.auth.authorization import Authorizer, refusal_of
from doorman.server.auth.rbac_authorizer import Decision
from doorman.server.request import Query, RequestInfo, parse_request_info

JANE = User(name="jane")


class _Says:
    def __init__(self, is_allowed: bool, reason: str) -> None:
        self._decision = Decision(is_allowed, reason)

    def decide(self, user: User, info: RequestInfo) -> Decision:
        return self._decision


def ask(method: str, path: str) -> RequestInfo:
    plain, _, query = path.partition("?")
    return parse_request_info(method, plain, Query(query))


def test_first_yes_counts_and_every_no_is_told() -> None:
    info = ask("GET", "/api/v1/nodes")
    assert Authorizer((_Says(False, "a"), _Says(True, "b"))).decide(JANE, info) == Decision(True, "b")
    assert Authorizer((_Says(False, "a"), _Says(False, ""), _Says(False, "c"))).decide(JANE, info).reason == "a\nc"


def test_masters_are_asked_nothing() -> None:
    chain = Authorizer((_Says(False, "no"),))
    assert chain.decide(User(name="x", groups=("system:masters",)), ask("GET", "/x")).is_allowed
    with pytest.raises(ApiError):
        chain.check(JANE, ask("GET", "/x"))


@pytest.mark.parametrize(
    ("method", "path", "message", "details"),
    [
        pytest.param(
            "GET", "/api/v1/namespaces/default/pods/x",
            'pods "x" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "default"',
            {"name": "x", "kind": "pods"}, id="item",
        ),
        pytest.param(
            "GET", "/apis/apps/v1/deployments",
            'deployments.apps is forbidden: User "jane" cannot list resource "deployments" in API group "apps" '
            "at the cluster scope",
            {"group": "apps", "kind": "deployments"}, id="collection",
        ),
        pytest.param(
            "GET", "/api/v1/namespaces/default/pods/x/log",
            'pods "x" is forbidden: User "jane" cannot get resource "pods/log" in API group "" '
            'in the namespace "default"',
            {"name": "x", "kind": "pods"}, id="subresource",
        ),
        pytest.param(
            "GET", "/metrics<x>", 'forbidden: User "jane" cannot get path "/metrics&lt;x&gt;"', {}, id="path-escaped"
        ),
        pytest.param(
            "DELETE", "/api/v1/nodes",
            'nodes is forbidden: User "jane" cannot deletecollection resource "nodes" in API group "" '
            "at the cluster scope",
            {"kind": "nodes"}, id="delete-all",
        ),
    ],
)  # fmt: skip
def test_refusals_are_said_as_kubernetes_says_them(method: str, path: str, message: str, details: object) -> None:
    error = refusal_of(JANE, ask(method, path))
    assert error.message == message
    assert error.status()["details"] == details
    assert refusal_of(JANE, ask(method, path), "why").message == f"{message}: why"
