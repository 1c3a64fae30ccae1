"""RBAC decisions: order, reasons, and that a change of roles is felt at once."""

import timeit

from doorman.api.identity import AUTHENTICATED, User
from doorman.client.actions import Delete
from doorman.server.auth import rbac_authorizer as rbac
from doorman.server.auth.rbac_authorizer import RbacAuthorizer
from doorman.server.request import RequestInfo
from support.api import running_api

JANE = User(name="jane", groups=(AUTHENTICATED,))
READ = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]


def listing(namespace: str = "default") -> RequestInfo:
    return RequestInfo(is_resource=True, verb="list", path="", resource="pods", namespace=namespace)


async def test_role_counts_in_its_namespace_only() -> None:
    async with running_api() as api:
        await api.given_role("r", "jane", READ, namespace="default")
        decide = api.cluster.authorizer.decide
        allowed = decide(JANE, listing())
        assert allowed.is_allowed
        assert allowed.reason == 'RBAC: allowed by RoleBinding "r/default" of Role "r" to User "jane"'
        assert not decide(JANE, listing("kube-system")).is_allowed
        assert not decide(JANE, listing("")).is_allowed


async def test_cluster_role_counts_everywhere_and_comes_first() -> None:
    async with running_api() as api:
        await api.given_role("r", "jane", READ, namespace="default")
        await api.given_role("c", "jane", READ)
        decision = api.cluster.authorizer.decide(JANE, listing())
        assert decision.reason == 'RBAC: allowed by ClusterRoleBinding "c" of ClusterRole "c" to User "jane"'
        assert api.cluster.authorizer.decide(JANE, listing("")).is_allowed


async def test_taken_role_is_felt_by_the_next_request() -> None:
    async with running_api() as api:
        await api.given_role("r", "jane", READ, namespace="default")
        assert api.cluster.authorizer.decide(JANE, listing()).is_allowed
        await api.admin.delete(Delete(resource=rbac.ROLE_BINDINGS, namespace="default", name="r"))
        assert not api.cluster.authorizer.decide(JANE, listing()).is_allowed


async def test_missing_role_is_told_in_the_reason() -> None:
    async with running_api() as api:
        await api.given_role("c", "jane", READ)
        await api.admin.delete(Delete(resource=rbac.CLUSTER_ROLES, name="c"))
        status, answer = await api.call("GET", "/api/v1/pods", user="jane")
        assert status == 403
        assert answer["message"] == (
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope: '
            'rbac: RBAC: clusterrole.rbac.authorization.k8s.io "c" not found'
        )


async def test_service_account_subject_is_the_account_of_the_binding_s_namespace() -> None:
    async with running_api() as api:
        binding = {
            "metadata": {"name": "b"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}],
        }
        await api.given(rbac.ROLE_BINDINGS, binding, namespace="default")
        robot = User(name="system:serviceaccount:default:robot", groups=(AUTHENTICATED,))
        decision = api.cluster.authorizer.decide(robot, listing())
        assert decision.reason.endswith('of ClusterRole "view" to ServiceAccount "robot/default"')
        other = User(name="system:serviceaccount:kube-system:robot", groups=(AUTHENTICATED,))
        assert not api.cluster.authorizer.decide(other, listing()).is_allowed


async def test_name_pinned_by_a_field_selector_counts_as_the_name() -> None:
    async with running_api() as api:
        rules = [{"apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"], "verbs": ["list", "watch"]}]
        await api.given_role("r", "jane", rules, namespace="default")
        path = "/api/v1/namespaces/default/pods"
        assert (await api.call("GET", f"{path}?fieldSelector=metadata.name%3Dp", user="jane"))[0] == 200
        assert (await api.call("GET", f"{path}?fieldSelector=metadata.name%3Dq", user="jane"))[0] == 403
        assert (await api.call("GET", path, user="jane"))[0] == 403


async def test_memory_of_decisions_is_bounded() -> None:
    async with running_api() as api:
        authorizer = RbacAuthorizer(api.cluster.cache)
        assert not authorizer.decide(JANE, listing("n" * 10_000)).is_allowed
        rights = authorizer._rights[(JANE.name, JANE.groups)]
        assert rights.decisions == {}, "a question without end is not remembered"


async def test_remembered_decision_is_cheap() -> None:
    async with running_api() as api:
        decide, asked = api.cluster.authorizer.decide, listing()
        once = min(timeit.repeat(lambda: decide(JANE, asked), number=2000, repeat=5)) / 2000
        assert once < 20e-6, "2 µs are wanted; ten times that is a bug on any machine"
