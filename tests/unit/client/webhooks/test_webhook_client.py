"""Where a webhook is: address and service."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pytest

from doorman.admission.plugin_contract import Docs, Weigh
from doorman.admission.webhooks.webhook_dispatch import Unanswered
from doorman.api.views.admissionregistration import ClientConfig
from doorman.client.webhooks.webhook_client import Target, target_of
from doorman.semantics.pods.pod_resources import Amounts

SERVICE = {"service": {"namespace": "n", "name": "s", "path": "/hook", "port": 8443}}


class World:
    def __init__(self, **docs: Any) -> None:
        self._docs = docs

    def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        assert (namespace, name) == (("", "node-1") if resource == "nodes" else ("n", "s"))
        found: Mapping[str, Any] | None = self._docs.get(resource)
        return found

    def labels(self, resource: str, namespace: str, name: str) -> Mapping[str, str] | None:
        found = self.get(resource, namespace, name)
        return None if found is None else found["metadata"].get("labels", {})

    def total(self, resource: str, namespace: str, name: str, weigh: Weigh) -> Amounts:
        raise AssertionError(f"nobody counts {resource} here: {namespace}, {name}, {weigh}")

    def find_kind(self, api_version: str, kind: str) -> tuple[str, bool] | None:
        raise AssertionError(f"nobody asks for {api_version} {kind}")

    def converted(self, api_version: str, kind: str, docs: Docs) -> Docs:
        raise AssertionError(f"nobody shows {len(docs)} {api_version} {kind}")

    async def convert_ahead(self, api_version: str, kind: str, docs: Docs) -> None:
        raise AssertionError(f"nobody shows {len(docs)} {api_version} {kind}")

    def list(self, resource: str, namespace: str = "") -> Iterable[Mapping[str, Any]]:
        return ()


ENDPOINTS = {"subsets": [{"addresses": [{"ip": "10.0.0.7"}], "ports": [{"name": "tls", "port": 9443}]}]}
ON_NODE = {
    "subsets": [
        {"addresses": [{"ip": "10.0.0.7", "nodeName": "node-1"}], "ports": [{"name": "tls", "port": 9443}]},
    ]
}
SIMULATED_NODE = {"metadata": {"annotations": {"doorman.dev/simulated": "true"}}}
REFUSED = "dial tcp 10.0.0.7:9443: connect: connection refused (a simulated pod on node-1: nothing listens)"
PORTS = [{"name": "tls", "port": 8443}]


@pytest.mark.parametrize(
    ("config", "world", "expected"),
    [
        pytest.param({"url": "https://a/b"}, World(), Target("https://a/b"), id="url"),
        pytest.param(
            SERVICE,
            World(services={"spec": {"externalName": "hooks.example.com"}}),
            Target("https://hooks.example.com:8443/hook", "s.n.svc"),
            id="external-name",
        ),
        pytest.param(
            SERVICE,
            World(services={"spec": {"externalIPs": ["::1"]}}),
            Target("https://[::1]:8443/hook", "s.n.svc"),
            id="external-ip",
        ),
        pytest.param(
            SERVICE,
            World(services={"spec": {"ports": PORTS}}, endpoints=ENDPOINTS),
            Target("https://10.0.0.7:9443/hook", "s.n.svc"),
            id="endpoint",
        ),
        pytest.param(
            SERVICE,
            World(services={"spec": {"ports": PORTS}}, endpoints=ON_NODE, nodes={"metadata": {"annotations": {}}}),
            Target("https://10.0.0.7:9443/hook", "s.n.svc"),
            id="endpoint-on-a-node",
        ),
        pytest.param(
            SERVICE,
            World(services={"spec": {"ports": PORTS}}, endpoints=ON_NODE, nodes=SIMULATED_NODE),
            Target("https://10.0.0.7:9443/hook", "s.n.svc", REFUSED),
            id="endpoint-on-a-simulated-node",
        ),
    ],
)
def test_target(config: Any, world: World, expected: Target) -> None:
    assert target_of(msgspec.convert(config, ClientConfig), world.get) == expected


@pytest.mark.parametrize(
    ("config", "world", "told"),
    [
        pytest.param({"url": "http://a/"}, World(), "must be https", id="no-tls"),
        pytest.param({"url": "https://user@a/"}, World(), "must be https", id="user"),
        pytest.param(SERVICE, World(), 'service "s" not found', id="no-service"),
        pytest.param(SERVICE, World(services={"spec": {}}), "no endpoints available", id="no-endpoints"),
    ],
)
def test_nowhere(config: Any, world: World, told: str) -> None:
    with pytest.raises(Unanswered, match=told):
        target_of(msgspec.convert(config, ClientConfig), world.get)
