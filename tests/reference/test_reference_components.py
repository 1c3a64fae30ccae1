"""Kubernetes' own scheduler and controller manager, unmodified, on Doorman's API server (docs/api.md says how).

Needs their binaries: `scripts/test-reference FOLDER`; the folder holds kube-scheduler, kube-controller-manager and
kubectl of v1.37. Not part of the other suites, which need nothing that has to be built first.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Server

BINARIES = Path(os.environ["DOORMAN_REFERENCE_BIN"])
OWN_CONTROLLERS = "taint-expiry-controller,dedicated-nodes-controller,cloud-node-controller"
"""Those that kube-controller-manager does not have."""
NO_PODS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: doorman}]
"""
SCHEDULER = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}}}
leaderElection: {{leaderElect: false}}
"""


class Cluster:
    """Doorman's API server and nodes, the reference's scheduler and controllers."""

    def __init__(self, folder: Path) -> None:
        own = folder / "own-scheduler.yaml"
        own.write_text(NO_PODS)
        self.server = Server(folder, "--nodes", "2", "--controllers", OWN_CONTROLLERS, "--config", str(own))
        kubeconfig = str(self.server.kubeconfig)
        config = folder / "scheduler.yaml"
        config.write_text(SCHEDULER.format(kubeconfig=kubeconfig))
        self.processes = [
            self._start(folder, "kube-scheduler", f"--config={config}", "--secure-port=0"),
            self._start(
                folder,
                "kube-controller-manager",
                f"--kubeconfig={kubeconfig}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                "--leader-elect=false",
                "--secure-port=0",
            ),
        ]

    def _start(self, folder: Path, name: str, *flags: str) -> "subprocess.Popen[bytes]":
        with (folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen([BINARIES / name, *flags], stdout=log, stderr=log)

    def kubectl(self, *arguments: str) -> str:
        done = self.server.run(str(BINARIES / "kubectl"), *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
            process.wait(30)
        self.server.stop()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    running = Cluster(tmp_path)
    with running.server:
        yield running
        running.stop()


def test_deployment_is_placed_by_kube_scheduler_and_evicted_by_kube_controller_manager(cluster: Cluster) -> None:
    cluster.kubectl("taint", "nodes", "node-2", "dedicated=gpu:NoSchedule")
    cluster.kubectl("create", "deployment", "web", "--image=registry.k8s.io/pause:3.10", "--replicas=3")
    cluster.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=50s")
    nodes = cluster.kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}").split()
    assert nodes == ["node-1"] * 3
    placed_by = cluster.kubectl(
        "get", "events", "--field-selector=reason=Scheduled", "-o", "jsonpath={..source.component}"
    )
    reported_by = cluster.kubectl(
        "get", "events", "--field-selector=reason=Scheduled", "-o", "jsonpath={..reportingComponent}"
    )
    assert {*placed_by.split(), *reported_by.split()} == {"default-scheduler"}

    first = cluster.kubectl("get", "pods", "-o", "name").split()
    cluster.kubectl("taint", "nodes", "node-2", "dedicated:NoSchedule-")
    cluster.kubectl("taint", "nodes", "node-1", "maintenance:NoExecute")
    cluster.kubectl("wait", "--for=delete", *first, "--timeout=50s")
    cluster.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=50s")
    moved = cluster.kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}").split()
    assert moved == ["node-2"] * 3
