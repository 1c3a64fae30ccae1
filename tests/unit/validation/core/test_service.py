"""Services: ports, types, addresses."""

from typing import Any

import pytest

from doorman.registry.kinds.service_strategy import complete_service
from doorman.validation.context import Context
from doorman.validation.core.service import SERVICE
from doorman.validation.defaults import default_service

PORT = {"port": 80}


def service(**spec: Any) -> dict[str, Any]:
    doc = {"metadata": {"name": "s", "namespace": "default"}, "spec": spec}
    default_service(doc)
    complete_service(doc)
    return doc


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(service(ports=[PORT]), [], id="good"),
        pytest.param(service(), ["spec.ports: Required value"], id="no-ports"),
        pytest.param(service(clusterIP="None"), [], id="headless"),
        pytest.param(
            service(type="NodePort", clusterIP="None", ports=[PORT]),
            ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
            id="headless-with-node-ports",
        ),
        pytest.param(
            service(type="X", ports=[PORT]),
            [
                'spec.type: Unsupported value: "X": supported values: '
                '"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'
            ],
            id="type",
        ),
        pytest.param(
            service(ports=[{"port": 80}, {"port": 81}]),
            ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
            id="two-ports-need-names",
        ),
        pytest.param(
            service(ports=[{"port": 0, "targetPort": "http"}]),
            ["spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
            id="port-range",
        ),
        pytest.param(
            service(sessionAffinity="X", ports=[PORT]),
            ['spec.sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"'],
            id="affinity",
        ),
        pytest.param(
            service(ports=[{"port": 80, "nodePort": 30000}]),
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
            id="node-port-of-a-cluster-service",
        ),
        pytest.param(
            service(
                type="NodePort",
                ports=[{**PORT, "name": "a", "nodePort": 30000}, {"port": 81, "name": "b", "nodePort": 30000}],
            ),
            ["spec.ports[1].nodePort: Invalid value: 30000: provided port is already allocated"],
            id="node-port-twice",
        ),
        pytest.param(
            service(
                type="NodePort",
                ports=[
                    {**PORT, "name": "a", "nodePort": 30000},
                    {**PORT, "name": "b", "nodePort": 30000, "protocol": "UDP"},
                ],
            ),
            [],
            id="node-port-by-two-protocols",
        ),
        pytest.param(
            service(ports=[{**PORT, "name": "a"}, {**PORT, "name": "b"}]),
            [
                'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,'
                '"TargetPort":0,"NodePort":0}'
            ],
            id="port-twice",
        ),
        pytest.param(service(type="ExternalName", externalName="example.com."), [], id="external-name"),
        pytest.param(
            service(type="ExternalName"), ["spec.externalName: Required value"], id="external-name-without-one"
        ),
        pytest.param(
            service(type="ExternalName", externalName="a.b", clusterIP="10.96.0.5"),
            ["spec.clusterIPs: Forbidden: may not be set for ExternalName services"],
            id="external-name-with-an-address",
        ),
        pytest.param(
            service(clusterIP="x", ports=[PORT]),
            ['spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
            id="no-address",
        ),
        pytest.param(
            service(clusterIPs=["10.96.0.9"], ports=[PORT]),
            ['spec.clusterIPs: Invalid value: ["10.96.0.9"]: must be empty when `clusterIP` is not specified'],
            id="list-without-the-one",
        ),
        pytest.param(
            service(ipFamilyPolicy="RequireDualStack", ports=[PORT]),
            [
                'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
                "this cluster is not configured for dual-stack services"
            ],
            id="two-families",
        ),
        pytest.param(
            service(ipFamilies=["IPv6"], ports=[PORT]),
            ['spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
            id="the-other-family",
        ),
        pytest.param(service(ipFamilyPolicy="PreferDualStack", ports=[PORT]), [], id="prefers-two-families"),
    ],
)
def test_service_create(doc: dict[str, Any], expected: list[str]) -> None:
    assert [str(error) for error in SERVICE.create(doc, Context())] == expected


def test_service_keeps_its_address() -> None:
    old = service(ports=[PORT], clusterIP="10.0.0.1")
    new = service(ports=[PORT], clusterIP="10.0.0.2")
    assert [error.field for error in SERVICE.update(new, old, Context())] == ["spec.clusterIPs[0]"]
    assert SERVICE.update(new, service(type="ExternalName", externalName="a.b"), Context()) == []
