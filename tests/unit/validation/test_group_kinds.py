"""Roles, storage, endpoint slices and autoscalers: what is refused, in which words and which order."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.pods.pod_warnings import pod_warnings
from doorman.validation.validators import validator_of
from doorman.validation.warnings import warnings_of

RBAC = "rbac.authorization.k8s.io"
ROWS: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("a role", f"roles.{RBAC}", {"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}, []),
    ("what is declared comes last", f"roles.{RBAC}", {"rules": [{}]},
     ["rules[0].apiGroups: Required value: resource rules must supply at least one api group",
      "rules[0].resources: Required value: resource rules must supply at least one resource",
      "rules[0].verbs: Required value"]),
    ("no URLs in namespaces", f"roles.{RBAC}", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]},
     ['rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs']),
    ("a binding", f"rolebindings.{RBAC}", {"roleRef": {"apiGroup": RBAC, "kind": "X"}},
     ['roleRef.kind: Unsupported value: "X": supported values: "Role", "ClusterRole"', "roleRef.name: Required value"]),
    ("a class", "storageclasses.storage.k8s.io", {"provisioner": "a.b", "volumeBindingMode": "Immediate"}, []),
    ("a class of nobody", "storageclasses.storage.k8s.io", {"volumeBindingMode": "x"},
     ['volumeBindingMode: Unsupported value: "x": supported values: "Immediate", "WaitForFirstConsumer"',
      "provisioner: Required value"]),
    ("attributes", "volumeattributesclasses.storage.k8s.io", {"driverName": "d"},
     ["parameters: Required value: must contain at least one key/value pair"]),
    ("a node's driver", "csinodes.storage.k8s.io", {"spec": {"drivers": [{"name": "a.b", "nodeID": ""}]}},
     ["spec.drivers[0].nodeID: Required value"]),
    ("an attachment", "volumeattachments.storage.k8s.io", {"spec": {"attacher": "", "nodeName": "n"}},
     ["spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
      "spec.attacher: Required value"]),
    ("a slice", "endpointslices.discovery.k8s.io",
     {"addressType": "IPv4", "endpoints": [{"addresses": ["127.0.0.1", "010.0.0.1"]}]},
     ['endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      'endpoints[0].addresses[1]: Invalid value: "010.0.0.1": must not have leading 0s']),
    ("no type", "endpointslices.discovery.k8s.io", {"endpoints": [{}]},
     ["addressType: Required value", "endpoints[0].addresses: Required value"]),
    ("a revision", "controllerrevisions.apps", {"revision": -1},
     ["revision: Invalid value: -1: must be greater than or equal to 0", "data: Required value: data is mandatory"]),
    ("a version of an API", "apiservices.apiregistration.k8s.io",
     {"spec": {"group": "g", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}},
     ['metadata.name: Invalid value: "x": must be `spec.version+"."+spec.group`: "v1.g"']),
    ("a migration", "storageversionmigrations.storagemigration.k8s.io", {"spec": {}},
     ["spec.resource.resource: Required value: resource is required to be set"]),
    ("an autoscaler", "horizontalpodautoscalers.autoscaling",
     {"spec": {"maxReplicas": 2, "minReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d", "apiVersion": "v1"}}},
     ["spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`",
      'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group']),
    ("a metric of no kind", "horizontalpodautoscalers.autoscaling",
     {"spec": {"maxReplicas": 2, "metrics": [{"type": "Pods"}],
               "scaleTargetRef": {"kind": "D", "name": "d", "apiVersion": "apps/v1"}}},
     ["spec.metrics[0].pods: Required value: must populate information for the given metric source"]),
]  # fmt: skip


@pytest.mark.parametrize(("storage", "members", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_refusals(storage: str, members: dict[str, Any], expected: list[str]) -> None:
    doc = {"metadata": {"name": "x", "namespace": "ns"}, **members}
    assert [str(error) for error in validator_of(storage).create(doc, Context())] == expected


def test_what_may_not_change() -> None:
    old = {"metadata": {"name": "x", "uid": "u"}, "provisioner": "a.b", "volumeBindingMode": "Immediate"}
    new = {**old, "parameters": {"a": "b"}}
    found = validator_of("storageclasses.storage.k8s.io").update(new, old, Context())
    assert [str(error) for error in found] == ["parameters: Invalid value: null: field is immutable"]


def test_pods_that_are_hardly_what_was_meant() -> None:
    container = {
        "name": "a",
        "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "TCP"}],
        "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
        "resources": {"limits": {"memory": "100m"}},
    }
    spec = {"nodeSelector": {"beta.kubernetes.io/os": "linux"}, "volumes": [{"rbd": {}}], "containers": [container]}
    assert pod_warnings({"metadata": {"name": "p"}, "spec": spec}) == [
        'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
        "spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+",
        'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
        "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
    ]


def test_a_template_is_looked_at_when_it_is_new_or_changed() -> None:
    doc = {"metadata": {"name": "d", "generation": 2}, "spec": {"template": {"spec": {"volumes": [{"gitRepo": {}}]}}}}
    said = ["spec.template.spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"]
    assert warnings_of("deployments.apps", doc, None) == said
    assert warnings_of("deployments.apps", doc, {"metadata": {"generation": 1}}) == said
    assert warnings_of("deployments.apps", doc, doc) == []
