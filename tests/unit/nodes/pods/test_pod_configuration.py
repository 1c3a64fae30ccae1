"""Config maps and secrets that a pod refers to."""

from typing import Any

import pytest

from doorman.api.views.core import ConfigMap, Secret
from doorman.api.views.meta import to_view
from doorman.nodes.pods.pod_configuration import PodConfiguration
from doorman.runtime.informer_indexes import indexed_cache
from support.scheduling import make_pod


@pytest.fixture
def configuration() -> PodConfiguration:
    config_maps, secrets = indexed_cache("configmaps"), indexed_cache("secrets")
    document = {"metadata": {"name": "app", "namespace": "default"}, "data": {"k": "v"}}
    config_maps.put("default/app", to_view({**document, "binaryData": {"b": "AA=="}}, ConfigMap))
    secrets.put("default/app", to_view({**document, "data": {"k": "dg=="}}, Secret))
    return PodConfiguration(config_maps, secrets)


def items(*keys: str) -> list[dict[str, str]]:
    return [{"key": key, "path": key} for key in keys]


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        pytest.param({"configMap": {"name": "app"}}, "", id="config map"),
        pytest.param({"configMap": {"name": "no"}}, 'configmap "no" not found', id="no config map"),
        pytest.param({"configMap": {"name": "no", "optional": True}}, "", id="optional config map"),
        pytest.param({"configMap": {"name": "app", "items": items("k", "b")}}, "", id="keys"),
        pytest.param(
            {"configMap": {"name": "app", "items": items("x")}},
            "configmap references non-existent config key: x",
            id="no such key",
        ),
        pytest.param({"configMap": {"name": "app", "items": items("x"), "optional": True}}, "", id="optional key"),
        pytest.param({"secret": {"secretName": "no"}}, 'secret "no" not found', id="no secret"),
        pytest.param(
            {"secret": {"secretName": "app", "items": items("x")}},
            "references non-existent secret key: x",
            id="no such key of a secret",
        ),
        pytest.param(
            {"projected": {"sources": [{"configMap": {"name": "no"}}, {"secret": {"name": "app"}}]}},
            'configmap "no" not found',
            id="projected",
        ),
        pytest.param(
            {"projected": {"sources": [{"configMap": {"name": "no"}}, {"secret": {"name": "none"}}]}},
            '[configmap "no" not found, secret "none" not found]',
            id="projected, both missing",
        ),
        pytest.param(
            {"projected": {"sources": [{"secret": {"name": "no", "optional": True}}, {"downwardAPI": {}}]}},
            "",
            id="projected, optional",
        ),
        pytest.param({"emptyDir": {}}, "", id="nothing"),
    ],
)
def test_volumes(configuration: PodConfiguration, source: Any, fault: str) -> None:
    pod = make_pod("p", volumes=[{"name": "x", **source}])
    assert configuration.volume_fault(pod, pod.spec.volumes[0]) == fault


def test_volume_with_the_pods_token_is_not_looked_at(configuration: PodConfiguration) -> None:
    sources = [{"configMap": {"name": "kube-root-ca.crt"}}]
    pod = make_pod("p", volumes=[{"name": "kube-api-access-abcde", "projected": {"sources": sources}}])
    assert configuration.volume_fault(pod, pod.spec.volumes[0]) == ""


def variable(kind: str, name: str, key: str, **more: Any) -> dict[str, Any]:
    return {"env": [{"name": "V", "valueFrom": {kind: {"name": name, "key": key, **more}}}]}


@pytest.mark.parametrize(
    ("container", "fault"),
    [
        pytest.param(variable("configMapKeyRef", "app", "k"), "", id="key"),
        pytest.param(variable("configMapKeyRef", "no", "k"), 'configmap "no" not found', id="no config map"),
        pytest.param(variable("configMapKeyRef", "no", "k", optional=True), "", id="optional"),
        pytest.param(
            variable("configMapKeyRef", "app", "x"), "couldn't find key x in ConfigMap default/app", id="no key"
        ),
        pytest.param(
            variable("configMapKeyRef", "app", "b"), "couldn't find key b in ConfigMap default/app", id="binary key"
        ),
        pytest.param(variable("configMapKeyRef", "app", "x", optional=True), "", id="optional key"),
        pytest.param(variable("secretKeyRef", "no", "k"), 'secret "no" not found', id="no secret"),
        pytest.param(variable("secretKeyRef", "app", "x"), "couldn't find key x in Secret default/app", id="no key"),
        pytest.param({"envFrom": [{"secretRef": {"name": "no"}}]}, 'secret "no" not found', id="all of no secret"),
        pytest.param({"envFrom": [{"configMapRef": {"name": "no", "optional": True}}]}, "", id="all, optional"),
        pytest.param({"env": [{"name": "V", "value": "x"}]}, "", id="plain value"),
    ],
)
def test_variables(configuration: PodConfiguration, container: Any, fault: str) -> None:
    pod = make_pod("p", containers=[{"name": "c", "image": "i", **container}])
    assert configuration.container_faults(pod) == ({"c": fault} if fault else {})


def test_init_container_keeps_the_others_back(configuration: PodConfiguration) -> None:
    missing = {"envFrom": [{"secretRef": {"name": "no"}}]}
    pod = make_pod(
        "p",
        initContainers=[{"name": "i", "image": "i", **missing}],
        containers=[{"name": "c", "image": "i", **missing}, {"name": "d", "image": "i", **missing}],
    )
    assert list(configuration.container_faults(pod)) == ["i"]
    assert list(configuration.container_faults(make_pod("p", containers=[{"name": "c", "image": "i", **missing}]))) == [
        "c"
    ]
