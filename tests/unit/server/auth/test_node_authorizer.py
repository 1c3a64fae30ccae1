"""What a kubelet may do, a row each."""

import pytest

from doorman.api.identity import User
from doorman.api.machinery.field_selectors import FieldTerm
from doorman.server.auth.node_authorizer import node_of, references
from doorman.server.request import Query, RequestInfo, parse_request_info
from support.api import Api, running_api

N1 = User(name="system:node:n1", groups=("system:nodes", "system:authenticated"))
POD = {"containers": [{"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": "cm"}}]}], "nodeName": "n1"}
VOLUMES = [
    {"name": "a", "secret": {"secretName": "s"}},
    {"name": "b", "persistentVolumeClaim": {"claimName": "pvc"}},
]
OWN, OTHER, ALL = "only its own Node object", "no relationship found", "can only"
NS = "/api/v1/namespaces/default"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
ELSEWHERE = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"


async def given_pods(api: Api) -> None:
    await api.given_account("default")
    await api.given_account("robot")
    for node in ("n1", "n2"):
        await api.given("nodes", {"metadata": {"name": node}})
    spec = {**POD, "volumes": VOLUMES, "serviceAccountName": "robot", "imagePullSecrets": [{"name": "pull"}]}
    await api.given("pods", {"metadata": {"name": "mine"}, "spec": spec}, namespace="default")
    other = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n2"}
    await api.given("pods", {"metadata": {"name": "other"}, "spec": other}, namespace="default")
    for node in ("n1", "n2"):
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        body = {"metadata": {"name": f"slice-{node}"}, "spec": {"driver": "d.example", "nodeName": node, "pool": pool}}
        await api.given("resourceslices.resource.k8s.io", body)


@pytest.mark.parametrize(
    ("method", "path", "refused_with"),
    [
        pytest.param("GET", "/api/v1/nodes/n1", None, id="reads-its-node"),
        pytest.param("GET", "/api/v1/nodes/n2", f"node: node 'n1' cannot read 'n2', {OWN}", id="no-other-node"),
        pytest.param("GET", "/api/v1/nodes", f"node: node 'n1' cannot read all nodes, {OWN}", id="not-all-nodes"),
        pytest.param("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn1", None, id="lists-its-node"),
        pytest.param("GET", "/api/v1/nodes?watch=1&fieldSelector=metadata.name%3Dn2", OWN, id="watches-no-other-node"),
        pytest.param("PATCH", "/api/v1/nodes/n1/status", None, id="writes-status"),
        pytest.param("DELETE", "/api/v1/nodes/n1", "", id="deletes-no-node"),
        pytest.param("GET", f"{NS}/pods/mine", None, id="reads-its-pod"),
        pytest.param("GET", f"{NS}/pods/other", OTHER, id="reads-no-other-pod"),
        pytest.param("GET", f"{NS}/pods", ALL, id="not-all-pods"),
        pytest.param("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", None, id="lists-its-pods"),
        pytest.param("GET", "/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn1", None, id="watches-its-pods"),
        pytest.param("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2", ALL, id="lists-no-others-pods"),
        pytest.param("GET", "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn1", ALL, id="not-all-but-its-pods"),
        pytest.param("POST", f"{NS}/pods/mine/eviction", None, id="evicts"),
        pytest.param("PATCH", f"{NS}/pods/mine", "", id="changes-no-pod"),
        pytest.param("GET", f"{NS}/secrets/s", None, id="reads-mounted-secret"),
        pytest.param("GET", f"{NS}/secrets/pull", None, id="reads-pull-secret"),
        pytest.param("GET", f"{NS}/secrets/x", OTHER, id="reads-no-other-secret"),
        pytest.param("GET", "/api/v1/namespaces/kube-system/secrets/s", OTHER, id="not-a-namesake-elsewhere"),
        pytest.param("GET", f"{NS}/secrets", "No Object name found", id="not-all-secrets"),
        pytest.param("GET", f"{NS}/secrets?watch=1&fieldSelector=metadata.name%3Ds", None, id="watches-its-secret"),
        pytest.param("PUT", f"{NS}/secrets/s", "can only read resources of this type", id="writes-no-secret"),
        pytest.param("GET", f"{NS}/configmaps/cm", None, id="reads-config-map"),
        pytest.param("GET", f"{NS}/persistentvolumeclaims/pvc", None, id="reads-claim"),
        pytest.param("GET", f"{NS}/persistentvolumeclaims/x", OTHER, id="reads-no-other-claim"),
        pytest.param("POST", f"{NS}/serviceaccounts/robot/token", None, id="token-of-its-pods-account"),
        pytest.param("POST", f"{NS}/serviceaccounts/other/token", OTHER, id="no-other-token"),
        pytest.param("GET", f"{NS}/serviceaccounts/robot", "can only create tokens", id="reads-no-account"),
        pytest.param("PUT", f"{LEASES}/n1", None, id="renews-its-lease"),
        pytest.param("PUT", f"{LEASES}/n2", "with the same name as the requesting node", id="no-other-lease"),
        pytest.param("GET", LEASES, "can only get, create, update, patch, or delete a node lease", id="not-all-leases"),
        pytest.param("GET", f"{ELSEWHERE}/n1", '"kube-node-lease"', id="lease-elsewhere"),
        pytest.param("DELETE", f"{SLICES}/slice-n1", None, id="its-slice"),
        pytest.param("DELETE", f"{SLICES}/slice-n2", OTHER, id="no-other-slice"),
        pytest.param("GET", SLICES, "with nodeName field selector", id="not-all-slices"),
        pytest.param("DELETE", f"{SLICES}?fieldSelector=spec.nodeName%3Dn1", None, id="all-its-slices"),
        pytest.param("GET", "/apis/storage.k8s.io/v1/csinodes/n2", "with the same name", id="no-other-csi-node"),
        pytest.param("GET", "/api/v1/services", None, id="reads-services"),
        pytest.param("POST", f"{NS}/events", None, id="writes-events"),
        pytest.param("POST", f"{NS}/configmaps", "can only read", id="creates-nothing-else"),
        pytest.param("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", "", id="no-roles"),
    ],
)  # fmt: skip
async def test_node_may_do_what_concerns_it(method: str, path: str, refused_with: str | None) -> None:
    async with running_api() as api:
        await given_pods(api)
        plain, _, query = path.partition("?")
        decision = api.cluster.authorizer.decide(N1, parse_request_info(method, plain, Query(query)))
        assert decision.is_allowed is (refused_with is None), decision
        assert (refused_with or "") in decision.reason


@pytest.mark.parametrize(
    ("name", "groups", "node"),
    [
        pytest.param("system:node:n1", ("system:nodes",), "n1", id="node"),
        pytest.param("system:node:n1", (), "", id="without-the-group"),
        pytest.param("jane", ("system:nodes",), "", id="without-the-name"),
        pytest.param("system:node:", ("system:nodes",), "", id="nobody-s-node"),
    ],
)
def test_node_is_known_by_name_and_group(name: str, groups: tuple[str, ...], node: str) -> None:
    assert node_of(User(name=name, groups=groups)) == node


def test_mirror_pod_opens_nothing() -> None:
    spec = {"volumes": [{"name": "a", "secret": {"secretName": "s"}}], "containers": []}
    meta = {"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}}
    assert list(references({"metadata": meta, "spec": spec})) == []
    assert list(references({"metadata": {"name": "p"}, "spec": spec})) == [("secrets", "s")] * 2


def test_selector_of_a_review_counts() -> None:
    term = FieldTerm("spec.nodeName", "n1", True)
    info = RequestInfo(is_resource=True, verb="list", path="", resource="pods", selector=(term,))
    assert info.named == ""
