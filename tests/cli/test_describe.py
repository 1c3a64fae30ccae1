"""`doorman describe` shows what `kubectl describe` shows."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Server

AGE = re.compile(r"\b(\d+[smhd])+\b")
MOMENT = re.compile(r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} [+-]\d{4}")

OBJECTS = """
apiVersion: v1
kind: Pod
metadata:
  name: rich
  labels: {a: b, c: d}
  annotations: {note: x, several: "a\\nb", long: "%s"}
spec:
  priorityClassName: system-node-critical
  nodeSelector: {kubernetes.io/os: linux}
  tolerations:
  - {key: a, operator: Exists}
  - {key: k, value: v, effect: NoExecute, tolerationSeconds: 30}
  - {operator: Exists, effect: NoSchedule}
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}
  initContainers: [{name: i, image: busybox, command: [sh, -c, "true"]}]
  containers:
  - name: c
    image: nginx:1
    command: [nginx]
    args: [-g, "daemon off;"]
    ports: [{containerPort: 80, name: http}, {containerPort: 53, protocol: UDP}]
    resources: {limits: {cpu: "1", memory: 1Gi}, requests: {cpu: 100m}}
    env:
    - {name: A, value: "1"}
    - {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: C, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}
    - {name: D, valueFrom: {configMapKeyRef: {name: m, key: a, optional: true}}}
    - {name: E, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
    envFrom:
    - {configMapRef: {name: m, optional: true}}
    - {prefix: P_, secretRef: {name: s, optional: true}}
    livenessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 5}
    readinessProbe: {exec: {command: [ls]}}
    startupProbe: {tcpSocket: {port: 80}}
    volumeMounts: [{name: e, mountPath: /e}, {name: m, mountPath: /m, readOnly: true, subPath: a}]
  - {name: d, image: x, ports: [{containerPort: 1}]}
  volumes:
  - {name: e, emptyDir: {}}
  - {name: m, configMap: {name: m, optional: true}}
  - {name: h, hostPath: {path: /tmp}}
  - {name: s, secret: {secretName: s, optional: true}}
---
apiVersion: v1
kind: Pod
metadata: {name: nowhere, ownerReferences: []}
spec:
  nodeSelector: {no: where}
  containers: [{name: c, image: x, resources: {requests: {cpu: 250m, memory: 1Gi}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
""" % ("y" * 200)

WIDGET = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, labels: {a: b}, finalizers: [x.y/z]}
spec:
  size: 3
  isOn: true
  emptyMap: {}
  emptyList: []
  scalars: [a, 1, true, 1.25]
  maps: [{a: 1, bC: [x]}, {nested: {deepURL: u}}]
  lists: [[1, 2], [3]]
  x-y: 1
  snake_case: 2
status: {phase: Ready}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("describe")
    with Server(folder, "--nodes", "2") as running:
        for number, text in enumerate((OBJECTS, WIDGET)):
            file = folder / f"{number}.yaml"
            file.write_text(text)
            made = running.kubectl("apply", "-f", str(file))
            assert made.returncode == 0, made.stderr
            ready = running.kubectl("wait", "crd/widgets.example.com", "--for=condition=Established")
            assert ready.returncode == 0, ready.stderr
        running.kubectl("taint", "nodes", "node-2", "b:PreferNoSchedule", "a=b:NoSchedule")
        running.kubectl("label", "nodes", "node-2", "node-role.kubernetes.io/infra=")
        ready = running.kubectl("wait", "pod/rich", "--for=condition=Ready")
        assert ready.returncode == 0, ready.stderr
        failed = running.kubectl("wait", "pod/nowhere", "--for=condition=PodScheduled=false")
        assert failed.returncode == 0, failed.stderr
        # The last that happens by itself: none of it may come between the two commands that are compared.
        nodes = running.start_doorman(
            "get", "events", "-A", "--field-selector", "reason=RegisteredNode", "-o", "name", "-w"
        )
        assert nodes.stdout is not None
        assert all(nodes.stdout.readline() for _ in range(2)), "each node is registered"
        nodes.kill()
        nodes.communicate()
        yield running


def shown(text: str) -> list[str]:
    """Without what changes from one second to the next, and the width it takes. Of projected volumes kubectl before
    1.33 said the same in other words, and of nodes it told the version of a proxy that no node says any more. Names of
    ports are told since, and thresholds of probes in words.
    """
    lines = [" ".join(MOMENT.sub("MOMENT", AGE.sub("AGE", line)).split()) for line in text.splitlines()]
    lines = [line.replace("ConfigMapOptional: <nil>", "Optional: false").replace(" (http)", "") for line in lines]
    lines = [line.replace("#success", "successThreshold").replace("#failure", "failureThreshold") for line in lines]
    return [line for line in lines if not line.startswith("Kube-Proxy Version:")]


@pytest.mark.parametrize(
    "arguments",
    [
        ["pod/rich"],
        ["pod", "nowhere"],
        ["pod", "no", "--show-events=true"],
        ["nodes", "--show-events=true"],
        ["node/node-2"],
        ["widget", "w"],
        ["node/node-1", "pod/rich", "--show-events=false"],
        ["pod/nope"],
        ["pods", "-n", "kube-system"],
        ["pods", "-l", "a=b"],
    ],
)
def test_shows_what_kubectl_shows(server: Server, arguments: list[str]) -> None:
    theirs = server.kubectl("describe", *arguments)
    ours = server.doorman("describe", *arguments)
    assert shown(ours.stdout) == shown(theirs.stdout)
    assert (ours.stderr, ours.returncode) == (theirs.stderr, theirs.returncode)


def test_columns_are_as_wide_as_kubectl_s(server: Server) -> None:
    ours, theirs = server.doorman("describe", "widget", "w"), server.kubectl("describe", "widget", "w")
    assert ours.stdout == theirs.stdout
