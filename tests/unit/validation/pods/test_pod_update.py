"""What an update of a pod may change."""

import copy
from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.pods.pod_defaults import default_pod
from doorman.validation.pods.pod_update import FIXED_SPEC, validate_pod_update

AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
GT = {"key": "s", "operator": "Gt", "value": "5"}


def pod(**spec: Any) -> dict[str, Any]:
    doc = {"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    default_pod(doc)
    return doc


def with_terms(*keys: str) -> dict[str, Any]:
    expressions = [{"key": key, "operator": "Exists"} for key in keys]
    return {"nodeAffinity": {AFFINITY: {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}}


def fields(errors: Any) -> list[str]:
    return [error.field for error in errors]


GATED = {"schedulingGates": [{"name": "a.b/c"}]}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(pod(), pod(), [], id="nothing"),
        pytest.param(pod(containers=[{"name": "c", "image": "j"}]), pod(), [], id="V23-image"),
        pytest.param(
            pod(containers=[{"name": "c", "image": " j", "imagePullPolicy": "Always"}]),
            pod(),
            ["spec.containers[0].image"],
            id="V23-image-with-space",
        ),
        pytest.param(
            pod(containers=[{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]),
            pod(),
            ["spec.containers"],
            id="V23-container-added",
        ),
        pytest.param(
            pod(containers=[{"name": "c", "image": "i", "env": [{"name": "E"}]}]), pod(), ["spec"], id="V23-env"
        ),
        pytest.param(pod(nodeName="n1"), pod(), ["spec"], id="V29-node-name"),
        pytest.param(
            pod(terminationGracePeriodSeconds=1),
            pod(terminationGracePeriodSeconds=-5),
            [],
            id="V23-grace-from-negative",
        ),
        pytest.param(pod(terminationGracePeriodSeconds=1), pod(), ["spec"], id="V23-grace"),
        pytest.param(pod(activeDeadlineSeconds=5), pod(), [], id="deadline-set"),
        pytest.param(pod(activeDeadlineSeconds=5), pod(activeDeadlineSeconds=9), [], id="deadline-shortened"),
        pytest.param(
            pod(activeDeadlineSeconds=9),
            pod(activeDeadlineSeconds=5),
            ["spec.activeDeadlineSeconds"],
            id="deadline-lengthened",
        ),
        pytest.param(pod(), pod(activeDeadlineSeconds=5), ["spec.activeDeadlineSeconds"], id="deadline-removed"),
        pytest.param(pod(), pod(**GATED), [], id="V24-gate-removed"),
        pytest.param(pod(**GATED), pod(), ["spec.schedulingGates[0].name"], id="V24-gate-added"),
        pytest.param(pod(**GATED, nodeSelector={"a": "b"}), pod(**GATED), [], id="V24-gated-selector-gains-a-key"),
        pytest.param(
            pod(**GATED, nodeSelector={"a": "c"}),
            pod(**GATED, nodeSelector={"a": "b"}),
            ["spec.nodeSelector"],
            id="V24-gated-selector-changes",
        ),
        pytest.param(pod(nodeSelector={"a": "b"}), pod(), ["spec"], id="V24-not-gated-selector"),
        pytest.param(
            pod(**GATED, affinity=with_terms("a", "b")),
            pod(**GATED, affinity=with_terms("a")),
            [],
            id="V24-gated-term-gains",
        ),
        pytest.param(pod(**GATED, affinity=with_terms("a")), pod(**GATED), [], id="V24-gated-affinity-appears"),
        pytest.param(
            pod(**GATED, affinity=with_terms("b")),
            pod(**GATED, affinity=with_terms("a")),
            [f"spec.affinity.nodeAffinity.{AFFINITY}.nodeSelectorTerms[0]"],
            id="V24-gated-term-changes",
        ),
        pytest.param(
            pod(**GATED),
            pod(**GATED, affinity=with_terms("a")),
            [f"spec.affinity.nodeAffinity.{AFFINITY}.nodeSelectorTerms"],
            id="V24-gated-terms-vanish",
        ),
        pytest.param(
            pod(tolerations=[{"key": "k", "operator": "X"}]),
            pod(),
            ["spec.tolerations[0].operator"],
            id="V22-each-error-once",
        ),
    ],
)
def test_validate_pod_update(new: dict[str, Any], old: dict[str, Any], expected: list[str]) -> None:
    assert fields(validate_pod_update(new, old, Context())) == expected


def test_forbidden_change_says_what_may_change() -> None:
    (error,) = validate_pod_update(pod(schedulerName="x"), pod(), Context())
    assert error.body.startswith(f"Forbidden: {FIXED_SPEC}\n")
    assert "spec.schedulerName" in error.body


def test_gate_off_stored_comparison_operators_may_stay_and_grow() -> None:
    off = Context(comparison_operators=False)
    old, new = pod(tolerations=[GT]), pod(tolerations=[GT, {"key": "k", "operator": "Lt", "value": "1"}])
    assert validate_pod_update(new, old, off) == []
    assert fields(validate_pod_update(pod(tolerations=[GT]), pod(), off)) == ["spec.tolerations[0].operator"]


@pytest.mark.parametrize(
    ("nominated", "bound", "stored", "expected"),
    [
        pytest.param("n1", "", "", 0, id="V31-set"),
        pytest.param("Bad_", "", "", 1, id="V31-no-name"),
        pytest.param("n1", "n2", "", 1, id="V31-bound"),
        pytest.param("", "n2", "n1", 0, id="V31-cleared"),
        pytest.param("n1", "n2", "n1", 0, id="V31-unchanged"),
    ],
)
def test_nominated_node_name(nominated: str, bound: str, stored: str, expected: int) -> None:
    old = pod(nodeName=bound) if bound else pod()
    new = copy.deepcopy(old)
    old["status"], new["status"] = {"nominatedNodeName": stored}, {"nominatedNodeName": nominated}
    assert len(validate_pod_update(new, old, Context(subresource="status"))) == expected


EPHEMERAL = {"name": "e", "image": "i"}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param([EPHEMERAL], [], [], id="added"),
        pytest.param([], [EPHEMERAL], ['existing ephemeral containers "e" may not be removed\n'], id="removed"),
        pytest.param(
            [{**EPHEMERAL, "image": "j"}],
            [EPHEMERAL],
            ['existing ephemeral containers "e" may not be changed\n'],
            id="changed",
        ),
    ],
)
def test_ephemeral_containers_are_only_added(new: Any, old: Any, expected: list[str]) -> None:
    context = Context(subresource="ephemeralcontainers")
    found = validate_pod_update(pod(ephemeralContainers=new), pod(ephemeralContainers=old), context)
    assert [error.body.removeprefix("Forbidden: ") for error in found] == expected


def test_ephemeral_container_has_a_name_of_its_own_and_no_ports() -> None:
    new = pod(ephemeralContainers=[{"name": "c", "ports": [{"containerPort": 1}]}])
    found = validate_pod_update(new, pod(), Context(subresource="ephemeralcontainers"))
    assert fields(found) == [f"spec.ephemeralContainers[0].{field}" for field in ("image", "name", "ports")]


def test_resize_checks_resources() -> None:
    new = pod(containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "-1"}}}])
    found = validate_pod_update(new, pod(), Context(subresource="resize"))
    assert fields(found) == ["spec.containers[0].resources.requests[cpu]", "spec"]


def sized(**resources: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "c", "image": "i", "resources": resources}])


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(sized(requests={"cpu": "2"}), sized(requests={"cpu": "1"}), [], id="more"),
        pytest.param(sized(requests={"cpu": "1"}), sized(), ["spec"], id="other-class-of-service"),
        pytest.param(
            sized(requests={"cpu": "1"}),
            sized(requests={"cpu": "1", "memory": "1"}),
            ["spec.containers[0].resources.requests"],
            id="request-removed",
        ),
    ],
)
def test_resize_keeps_class_and_names(new: dict[str, Any], old: dict[str, Any], expected: list[str]) -> None:
    assert fields(validate_pod_update(new, old, Context(subresource="resize"))) == expected


@pytest.mark.parametrize(
    "added", [{"affinity": {}}, {"dnsConfig": {}}, {"resources": {}}, {"affinity": {"nodeAffinity": {}}}]
)
def test_part_that_is_empty_is_something_else_than_none(added: dict[str, Any]) -> None:
    assert "spec" in fields(validate_pod_update(pod(**added), pod(), Context()))
    assert "spec" not in fields(validate_pod_update(pod(nodeSelector={}), pod(), Context()))
