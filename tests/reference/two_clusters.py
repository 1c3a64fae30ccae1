"""A cluster of Kubernetes' own components and a Doorman, each with a store of its own, that are given the same."""

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reference.both_servers import ALL_OF_THE_KIT, BINARY, Both, KubeApiserver
from support.etcd import EtcdMember
from support.server import Server

NAMESPACE = "compared"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
CLAIMS = f"/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaims"
SWEPT = (
    PODS, CLAIMS, "/api/v1/nodes", "/apis/resource.k8s.io/v1/resourceslices", "/apis/resource.k8s.io/v1/deviceclasses",
    "/apis/resource.k8s.io/v1beta2/devicetaintrules",
)  # fmt: skip
WAIT_SECONDS_MAX = 20.0
AGREE_SECONDS_MAX = 3.0
LOOK_SECONDS = 0.05
SCHEDULER = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}, qps: 5000, burst: 5000}}
leaderElection: {{leaderElect: false}}
"""
_pause = threading.Event()


class TwoClusters(Both):
    def make(self, path: str, body: dict[str, Any]) -> None:
        """At both, which must take it."""
        for number in (0, 1):
            status, answer = self.ask(number, "POST", path, body)
            assert status in (201, 409), (number, path, body, answer)

    def make_node(self, node: dict[str, Any]) -> None:
        """As a kubelet does: the object, then its status."""
        name = node["metadata"]["name"]
        self.make("/api/v1/nodes", {key: value for key, value in node.items() if key != "status"})
        for number in (0, 1):
            status, answer = self.ask(number, "PATCH", f"/api/v1/nodes/{name}/status", {"status": node["status"]})
            assert status == 200, answer

    def wait_for_nodes(self) -> None:
        """Until they have the taints that their conditions give them, and no others."""
        for number in (0, 1):
            wait_until(lambda number=number: all(map(_is_settled, self._list(number, "/api/v1/nodes"))))  # type: ignore[misc]

    def outcome(self, number: int, name: str) -> tuple[str, str]:
        """Of a pod: whether it is bound and where, or why it is not."""
        found: list[tuple[str, str]] = []

        def is_decided() -> bool:
            status, pod = self.ask(number, "GET", f"{PODS}/{name}")
            if status == 404:
                found.append(("gone", ""))
            elif pod["spec"].get("nodeName"):
                found.append(("bound", pod["spec"]["nodeName"]))
            else:
                conditions = pod.get("status", {}).get("conditions", [])
                refused = [one for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"]
                found.extend((one.get("reason", ""), one.get("message", "")) for one in refused)
            return bool(found)

        wait_until(is_decided)
        return found[-1]

    def outcomes(self, name: str) -> tuple[tuple[str, str], tuple[str, str]]:
        """At Doorman and at the reference. Who preempts says so first: one may have come further than the other."""
        found = self.outcome(0, name), self.outcome(1, name)
        for _ in range(round(AGREE_SECONDS_MAX / LOOK_SECONDS)):
            if found[0][0] == found[1][0]:
                break
            _pause.wait(LOOK_SECONDS)
            found = self.outcome(0, name), self.outcome(1, name)
        return found

    def sweep(self) -> None:
        """Everything that was made goes."""
        for number in (0, 1):
            for path in SWEPT:
                for one in self._list(number, path):
                    self.ask(number, "DELETE", f"{path}/{one['metadata']['name']}?gracePeriodSeconds=0")
            wait_until(lambda number=number: not self._list(number, PODS) and not self._list(number, CLAIMS))  # type: ignore[misc]

    def _list(self, number: int, path: str) -> list[Any]:
        items: list[Any] = self.ask(number, "GET", path)[1]["items"]
        return items


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(round(WAIT_SECONDS_MAX / LOOK_SECONDS)):
        if holds():
            return
        _pause.wait(LOOK_SECONDS)
    raise AssertionError("it does not come to be so")


def _is_settled(node: dict[str, Any]) -> bool:
    keys = {taint["key"] for taint in node["spec"].get("taints") or ()}
    is_cordoned = bool(node["spec"].get("unschedulable"))
    return "node.kubernetes.io/not-ready" not in keys and ("node.kubernetes.io/unschedulable" in keys) is is_cordoned


@contextlib.contextmanager
def two_clusters(folder: Path) -> Iterator[TwoClusters]:
    with (
        EtcdMember(folder, "--unsafe-no-fsync") as member,
        Server(folder, "--nodes", "0", *ALL_OF_THE_KIT) as doorman,
        contextlib.ExitStack() as stack,
    ):
        reference = KubeApiserver(folder / "reference", member.url, *ALL_OF_THE_KIT)
        stack.callback(reference.stop)
        reference.wait()
        for process in _components(folder, reference):
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
        clusters = TwoClusters(reference, doorman)
        clusters.make("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
        for number in (0, 1):
            wait_until(lambda number=number: clusters.ask(number, "GET", account)[0] == 200)  # type: ignore[misc]
        yield clusters


def _components(folder: Path, reference: KubeApiserver) -> Iterator["subprocess.Popen[bytes]"]:
    kubeconfig, config = folder / "reference.kubeconfig", folder / "scheduler.yaml"
    kubeconfig.write_text(reference.kubeconfig())
    config.write_text(SCHEDULER.format(kubeconfig=kubeconfig))
    commands = {
        "kube-scheduler": [f"--config={config}", ALL_OF_THE_KIT[0]],
        "kube-controller-manager": [f"--kubeconfig={kubeconfig}", "--leader-elect=false", ALL_OF_THE_KIT[0]],
    }
    for name, flags in commands.items():
        with (folder / f"{name}.log").open("wb") as log:
            yield subprocess.Popen([BINARY.parent / name, *flags, "--secure-port=0"], stdout=log, stderr=log)
