"""What nodes carry adds up and goes away again."""

from typing import Any

import msgspec

from doorman.api.views.pods import Pod
from doorman.nodes.pods.node_load import Loads
from doorman.semantics.pods.host_ports import HostPort
from support.objects import pod


def requesting(name: str, cpu: str, port: int = 0) -> Pod:
    ports: list[dict[str, Any]] = [{"containerPort": port, "hostPort": port}] if port else []
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}, "ports": ports}
    return msgspec.convert(pod(name, "n1", metadata={"uid": name}, spec={"containers": [container]}), Pod)


def test_pods_add_up_and_go() -> None:
    loads = Loads()
    loads.take(requesting("a", "1", port=80))
    loads.take(requesting("b", "500m"))
    loads.take(requesting("b", "500m"))
    carried = loads.of("n1")
    assert (carried.pods, carried.requests, carried.ports) == (2, {"cpu": 1500}, {HostPort("TCP", 80)})
    assert loads.pods_of("n1") == ["a", "b"]
    loads.drop("a")
    assert (loads.of("n1").pods, loads.of("n1").ports) == (1, frozenset())
    loads.drop("b")
    loads.drop("b")
    assert (loads.of("n1").pods, loads.has("b"), loads.pods_of("n1")) == (0, False, [])
