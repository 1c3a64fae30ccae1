"""`doorman describe` of workloads, and of what guards and ranks their pods, beside kubectl's."""

from collections.abc import Iterator

import pytest

from support.server import Server

WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, labels: {a: b}, annotations: {note: x}}
spec:
  replicas: 2
  minReadySeconds: 1
  selector: {matchLabels: {app: api}, matchExpressions: [{key: tier, operator: In, values: [b, a]}]}
  template:
    metadata: {labels: {app: api, tier: a}, annotations: {long: line}}
    spec:
      serviceAccountName: default
      priorityClassName: system-node-critical
      nodeSelector: {kubernetes.io/os: linux}
      tolerations: [{key: z, operator: Exists}, {key: a, value: b, effect: NoSchedule}]
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: api}}}
      initContainers: [{name: first, image: i}]
      containers:
      - name: main
        image: i:1
        args: [a, b]
        ports: [{containerPort: 80}]
        env: [{name: WHO, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: X, value: "1"}]
        resources: {requests: {cpu: 100m}, limits: {memory: 64Mi}}
        readinessProbe: {httpGet: {path: /, port: 80}}
        volumeMounts: [{name: data, mountPath: /data}]
      volumes: [{name: data, emptyDir: {}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {nodeSelector: {kubernetes.io/os: linux}, containers: [{name: c, image: i}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: api}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: most}
spec: {maxUnavailable: 10%, selector: {}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("workloads"), "--nodes", "2", "--clock=virtual") as running:
        made = running.kubectl("apply", "-f", "-", stdin=WORKLOADS)
        assert made.returncode == 0, made.stderr
        assert running.doorman("clock", "advance", "5s").returncode == 0
        changed = running.kubectl("set", "image", "deployment/api", "main=i:2")
        assert changed.returncode == 0, changed.stderr
        assert running.doorman("clock", "advance", "20s").returncode == 0
        yield running


def told(text: str) -> list[str]:
    """Of DaemonSets kubectl before 1.33 did not tell the namespace, and thresholds it told without words."""
    text = text.replace("#success", "successThreshold").replace("#failure", "failureThreshold")
    return [line for line in text.splitlines() if not line.startswith("Namespace:")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["deployment/api", "rs", "daemonset/agent", "pdb/web", "pdb most", "priorityclass system-node-critical"]
)
def test_shows_what_kubectl_shows(server: Server, line: str) -> None:
    words = [*line.split(), "--show-events=false"]
    theirs, ours = server.kubectl("describe", *words), server.doorman("describe", *words)
    assert told(ours.stdout) == told(theirs.stdout)
    assert (ours.stderr, ours.returncode) == (theirs.stderr, theirs.returncode) == ("", 0)
