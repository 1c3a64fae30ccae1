"""Pods and pod templates: the checks of a create."""

from typing import Any

import pytest

from doorman.semantics.name_syntax import SUBDOMAIN_FAULT
from doorman.validation.context import Context
from doorman.validation.pods.pod import allows_comparison_operators, template_errors, validate_pod_create
from doorman.validation.pods.pod_defaults import default_pod, default_pod_spec


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def pod(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    doc = {
        "metadata": {"name": "p", **(metadata or {})},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }
    default_pod(doc)
    return doc


MIRROR = "kubernetes.io/config.mirror"


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(pod(), [], id="plain"),
        pytest.param(pod(nodeName="n1"), [], id="V28-node-name"),
        pytest.param(
            pod(nodeName="Bad_Name"),
            [f'spec.nodeName: Invalid value: "Bad_Name": {SUBDOMAIN_FAULT}'],
            id="V28-bad-name",
        ),
        pytest.param(
            pod(nodeName="n1", schedulingGates=[{"name": "a.b/c"}]),
            ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
            id="V28-gated",
        ),
        pytest.param(
            pod(schedulingGates=[{"name": "a"}, {"name": "a"}]),
            ['spec.schedulingGates[1]: Duplicate value: "a"'],
            id="gate-twice",
        ),
        pytest.param(
            pod(restartPolicy="Sometimes"),
            ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
            id="restart-policy",
        ),
        pytest.param(
            pod(dnsPolicy="X"),
            [
                'spec.dnsPolicy: Unsupported value: "X": supported values: '
                '"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"'
            ],
            id="dns-policy",
        ),
        pytest.param(
            pod(activeDeadlineSeconds=0),
            ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
            id="deadline",
        ),
        pytest.param(
            pod(ephemeralContainers=[{"name": "e", "image": "i"}]),
            ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
            id="ephemeral",
        ),
        pytest.param(
            pod(volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]),
            ['spec.volumes[1].name: Duplicate value: "v"'],
            id="volume-twice",
        ),
        pytest.param(
            pod(resourceClaims=[{"name": "d"}]),
            [
                'spec.resourceClaims[0]: Invalid value: {"name":"d"}: must specify one of: '
                "`resourceClaimName`, `resourceClaimTemplateName`"
            ],
            id="claim-of-nothing",
        ),
        pytest.param(
            pod({"annotations": {MIRROR: "x"}}),
            [
                f'metadata.annotations[{MIRROR}]: Invalid value: "x": '
                "must set spec.nodeName if mirror pod annotation is set"
            ],
            id="mirror-without-node",
        ),
        pytest.param(
            pod({"annotations": {"controller.kubernetes.io/pod-deletion-cost": "+1"}}),
            [
                'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": '
                "must be a 32bit integer"
            ],
            id="deletion-cost",
        ),
        pytest.param(
            pod(hostUsers=False, hostNetwork=True, hostIPC=True),
            [
                "spec.hostNetwork: Forbidden: when `hostUsers` is false",
                "spec.HostIPC: Forbidden: when `hostUsers` is false",
            ],
            id="host-users",
        ),
        pytest.param(
            pod(containers=[{"name": "c", "image": "i "}]),
            ['spec.containers[0].image: Invalid value: "i ": must not have leading or trailing whitespace'],
            id="image-with-space",
        ),
        pytest.param(
            pod(preemptionPolicy="Maybe"),
            ['spec.preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never"'],
            id="preemption-policy",
        ),
        pytest.param(
            pod(overhead={"cpu": "-1"}),
            ['spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
            id="overhead",
        ),
        pytest.param(
            pod(os={"name": "beos"}),
            ['spec.os: Unsupported value: "beos": supported values: "linux", "windows"'],
            id="os",
        ),
        pytest.param(
            pod(
                hostNetwork=True,
                containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 2}]}],
            ),
            [
                "spec.containers[0].ports[0].hostPort: Invalid value: 2: "
                "must match `containerPort` when `hostNetwork` is true"
            ],
            id="host-network-port",
        ),
    ],
)
def test_validate_pod_create(doc: dict[str, Any], expected: list[str]) -> None:
    assert texts(validate_pod_create(doc, Context())) == expected


GT = {"key": "s", "operator": "Gt", "value": "5"}


def test_gate_off_refuses_comparison_operators_in_new_pods() -> None:
    (error,) = validate_pod_create(pod(tolerations=[GT]), Context(comparison_operators=False))
    assert error.field == "spec.tolerations[0].operator"
    assert validate_pod_create(pod(tolerations=[GT]), Context(comparison_operators=True)) == []


def test_gate_off_lets_stored_comparison_operators_be() -> None:
    off = Context(comparison_operators=False)
    assert allows_comparison_operators({"tolerations": [GT]}, off)
    assert not allows_comparison_operators({"tolerations": []}, off)
    assert not allows_comparison_operators(None, off)
    assert allows_comparison_operators(None, Context())


def test_template_errors_carry_the_path_of_the_template() -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": [{"operator": "Equal"}]}
    default_pod_spec(spec)
    template = {"metadata": {"labels": {"a b": "c"}}, "spec": spec}
    found = template_errors(template, "spec.template", comparison_operators=True)
    assert [error.field for error in found] == ["spec.template.labels", "spec.template.spec.tolerations[0].operator"]


def test_template_annotation_with_tolerations_is_checked_too() -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    default_pod_spec(spec)
    legacy = "scheduler.alpha.kubernetes.io/tolerations"
    template = {"metadata": {"annotations": {legacy: '[{"key":"k","operator":"In"}]'}}, "spec": spec}
    (error,) = template_errors(template, "spec.template", comparison_operators=True)
    assert error.field == f"spec.template.annotations.{legacy}[0].operator"
    template["metadata"]["annotations"][legacy] = "["
    (error,) = template_errors(template, "spec.template", comparison_operators=True)
    assert error.field == "spec.template.annotations"
