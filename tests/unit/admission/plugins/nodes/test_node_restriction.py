"""NodeRestriction: what the recorded cases leave out."""

from typing import Any

import pytest

from doorman.admission.plugin_contract import Operation
from doorman.admission.plugins.nodes.node_restriction import NodeRestriction
from doorman.api.identity import User
from doorman.base.errors import ApiError

N1 = User(name="system:node:n1", groups=("system:nodes",))
LEASES, SLICES, CSI = "leases.coordination.k8s.io", "resourceslices.resource.k8s.io", "csinodes.storage.k8s.io"
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1", "controller": True}
NODE = {"metadata": {"name": "n1", "uid": "u1"}}


def pod(node: str = "n1", *, mirror: bool = False, owners: Any = (), labels: Any = None, **spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "p", "ownerReferences": list(owners), "labels": labels or {}}
    if mirror:
        metadata["annotations"] = {"kubernetes.io/config.mirror": "x"}
    return {"metadata": metadata, "spec": {"nodeName": node, **spec}}


def refusal_of(attributes: Any, cluster: Any) -> str:
    with pytest.raises(ApiError) as refused:
        NodeRestriction().admit(attributes, cluster, 0.0)
    return refused.value.message.partition("is forbidden: ")[2]


@pytest.mark.parametrize(
    ("doc", "why"),
    [
        pytest.param(
            pod("n2", mirror=True), 'node "n1" can only create pods with spec.nodeName set to itself', id="elsewhere"
        ),
        pytest.param(
            pod(mirror=True), 'node "n1" can only create pods with an owner reference set to itself', id="no-owner"
        ),
        pytest.param(
            pod(mirror=True, owners=[OWNER, OWNER]),
            'node "n1" can only create pods with a single owner reference set to itself',
            id="two-owners",
        ),
        pytest.param(
            pod(mirror=True, owners=[{**OWNER, "controller": False}]),
            'node "n1" can only create pods with a controller owner reference set to itself',
            id="no-controller",
        ),
        pytest.param(
            pod(mirror=True, owners=[{**OWNER, "blockOwnerDeletion": True}]),
            'node "n1" must not set blockOwnerDeletion on an owner reference',
            id="blocks",
        ),
        pytest.param(
            pod(mirror=True, owners=[{**OWNER, "uid": "u2"}]), "node n1 UID mismatch: expected u2 got u1", id="uid"
        ),
        pytest.param(
            pod(mirror=True, owners=[OWNER], serviceAccountName="x"),
            'node "n1" can not create pods that reference serviceaccounts',
            id="account",
        ),
        pytest.param(
            pod(mirror=True, owners=[OWNER], volumes=[{"secret": {}}]),
            'node "n1" can not create pods that reference secrets',
            id="secret",
        ),
        pytest.param(
            pod(mirror=True, owners=[OWNER], resourceClaims=[{}]),
            'node "n1" can not create pods that reference resourceclaims',
            id="claims",
        ),
        pytest.param(
            pod(mirror=True, owners=[OWNER], containers=[{"envFrom": [{"configMapRef": {"name": "x"}}]}]),
            'node "n1" can not create pods that reference configmaps',
            id="environment",
        ),
        pytest.param(
            pod(mirror=True, owners=[OWNER], volumes=[{"name": "v", "ephemeral": {}}]),
            'node "n1" can not create pods that reference persistentvolumeclaims (via ephemeral volumes)',
            id="ephemeral-volume",
        ),
    ],
)
def test_kubelet_creates_only_its_mirror_pods(doc: Any, why: str, world: Any, asked: Any) -> None:
    assert refusal_of(asked(doc, user=N1), world(nodes=[NODE])) == why


def test_kubelet_creates_its_mirror_pod(world: Any, asked: Any) -> None:
    NodeRestriction().admit(asked(pod(mirror=True, owners=[OWNER]), user=N1), world(nodes=[NODE]), 0.0)


def test_kubelet_deletes_its_pods_only(world: Any, asked: Any) -> None:
    NodeRestriction().admit(asked(None, user=N1, operation=Operation.DELETE, old=pod()), world(), 0.0)
    other = asked(None, user=N1, operation=Operation.DELETE, old=pod("n2"))
    assert refusal_of(other, world()) == 'node "n1" can only delete pods with spec.nodeName set to itself'


def test_kubelet_updates_no_pods(world: Any, asked: Any) -> None:
    attributes = asked(pod(), user=N1, operation=Operation.UPDATE, old=pod())
    assert refusal_of(attributes, world()) == (
        'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods'
    )


def test_kubelet_changes_no_labels_through_pod_status(world: Any, asked: Any) -> None:
    def write(new: Any) -> Any:
        return asked(new, user=N1, operation=Operation.UPDATE, subresource="status", old=pod())

    NodeRestriction().admit(write(pod()), world(), 0.0)
    assert refusal_of(write(pod(labels={"a": "b"})), world()) == 'node "n1" cannot update labels through pod status'
    claimed = {**pod(), "status": {"resourceClaimStatuses": [{}]}}
    assert refusal_of(write(claimed), world()) == 'node "n1" cannot update resource claim statues'
    extended = {**pod(), "status": {"extendedResourceClaimStatus": {"resourceClaimName": "c"}}}
    assert refusal_of(write(extended), world()) == 'node "n1" cannot update extended resource claim status'


def test_kubelet_evicts_its_pods_only(world: Any, asked: Any) -> None:
    def evict(name: str) -> Any:
        return asked({"metadata": {"name": name}}, user=N1, subresource="eviction")

    there = world(pods=[pod("n2")])
    assert refusal_of(evict("p"), there) == "node n1 can only evict pods with spec.nodeName set to itself"
    NodeRestriction().admit(evict("p"), world(pods=[pod()]), 0.0)
    with pytest.raises(ApiError, match='pods "ghost" not found'):
        NodeRestriction().admit(evict("ghost"), there, 0.0)


def test_kubelet_uses_no_other_subresource(world: Any, asked: Any) -> None:
    attributes = asked({"metadata": {"name": "p"}}, user=N1, subresource="binding")
    assert refusal_of(attributes, world()) == (
        "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed"
    )


def test_kubelet_changes_no_owners_of_its_node(world: Any, asked: Any) -> None:
    new = {"metadata": {"name": "n1", "ownerReferences": [OWNER]}}
    attributes = asked(new, "nodes", user=N1, operation=Operation.UPDATE, old=NODE, namespace="")
    assert refusal_of(attributes, world()) == 'node "n1" is not allowed to modify ownerReferences'


@pytest.mark.parametrize(
    ("resource", "doc", "namespace", "why"),
    [
        pytest.param(
            LEASES,
            {"metadata": {"name": "n1"}},
            "default",
            'can only access leases in the "kube-node-lease" system namespace',
            id="lease-namespace",
        ),
        pytest.param(
            LEASES,
            {"metadata": {"name": "n2"}},
            "kube-node-lease",
            "can only access node lease with the same name as the requesting node",
            id="lease-name",
        ),
        pytest.param(
            CSI,
            {"metadata": {"name": "n2"}},
            "",
            "can only access CSINode with the same name as the requesting node",
            id="csi-node",
        ),
        pytest.param(
            SLICES,
            {"metadata": {"name": "s"}, "spec": {"nodeName": "n2"}},
            "",
            "can only create ResourceSlice with the same NodeName as the requesting node",
            id="slice",
        ),
    ],
)
def test_kubelet_writes_about_itself_only(
    resource: str, doc: Any, namespace: str, why: str, world: Any, asked: Any
) -> None:
    assert refusal_of(asked(doc, resource, user=N1, namespace=namespace), world()) == why


def test_kubelet_deletes_its_slices_only(world: Any, asked: Any) -> None:
    old = {"metadata": {"name": "s"}, "spec": {"nodeName": "n2"}}
    attributes = asked(None, SLICES, user=N1, operation=Operation.DELETE, old=old, namespace="")
    assert refusal_of(attributes, world()) == (
        "can only delete ResourceSlice with the same NodeName as the requesting node"
    )


def token(**ref: str) -> dict[str, Any]:
    return {"metadata": {"name": "default"}, "spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", **ref}}}


def test_kubelet_asks_for_tokens_of_its_pods_only(world: Any, asked: Any) -> None:
    def ask(body: Any) -> Any:
        return asked(body, "serviceaccounts", user=N1, subresource="token")

    mine = {"metadata": {"name": "p", "uid": "1"}, "spec": {"nodeName": "n1"}}
    NodeRestriction().admit(ask(token(name="p", uid="1")), world(pods=[mine]), 0.0)
    assert refusal_of(ask(token()), world()) == "node requested token not bound to a pod"
    assert refusal_of(ask(token(name="p")), world()) == "node requested token with a pod binding without a uid"
    with pytest.raises(ApiError, match="does not match the UID in record"):
        NodeRestriction().admit(ask(token(name="p", uid="2")), world(pods=[mine]), 0.0)
    theirs = {"metadata": {"name": "p", "uid": "1"}, "spec": {"nodeName": "n2"}}
    assert refusal_of(ask(token(name="p", uid="1")), world(pods=[theirs])) == (
        "node requested token bound to a pod scheduled on a different node"
    )


@pytest.mark.parametrize(
    "user",
    [
        pytest.param(User(name="system:node:n1"), id="not-in-the-group"),
        pytest.param(User(name="somebody", groups=("system:nodes",)), id="not-so-named"),
    ],
)
def test_others_are_not_concerned(user: User, world: Any, asked: Any) -> None:
    NodeRestriction().admit(asked(pod("n2"), user=user), world(), 0.0)


def test_nameless_node_is_refused(world: Any, asked: Any) -> None:
    nobody = User(name="system:node:", groups=("system:nodes",))
    assert refusal_of(asked(pod(), user=nobody), world()) == 'could not determine node from user "system:node:"'


def test_mirror_pod_of_a_node_that_is_not_there(world: Any, asked: Any) -> None:
    with pytest.raises(ApiError) as refused:
        NodeRestriction().admit(asked(pod(mirror=True, owners=[OWNER]), user=N1), world(), 0.0)
    assert (refused.value.code, refused.value.message) == (404, 'nodes "n1" not found')


ONLY_SO_FAR = 'node "n1" is not allowed to update fields other than status.quantity and status.conditions'


def claim(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "c", "resourceVersion": "1"}, "spec": {"volumeName": "v"}, "status": status}


@pytest.mark.parametrize(
    ("new", "subresource", "why"),
    [
        pytest.param(claim(capacity={"storage": "2"}, conditions=[{"type": "x"}]), "status", "", id="expansion"),
        pytest.param(
            claim(phase="Lost"),
            "status",
            f"{ONLY_SO_FAR}: status.phase",
            id="phase",
        ),
        pytest.param(
            {**claim(), "metadata": {"name": "c", "labels": {"a": "b"}}},
            "status",
            f"{ONLY_SO_FAR}: metadata.labels",
            id="labels",
        ),
        pytest.param(claim(), "", "may only update PVC status", id="whole"),
    ],
)
def test_kubelet_tells_how_far_an_expansion_is(new: Any, subresource: str, why: str, world: Any, asked: Any) -> None:
    asking = asked(
        new, "persistentvolumeclaims", operation=Operation.UPDATE, old=claim(), subresource=subresource, user=N1
    )
    if why:
        assert refusal_of(asking, world()) == why
    else:
        NodeRestriction().admit(asking, world(), 0.0)
