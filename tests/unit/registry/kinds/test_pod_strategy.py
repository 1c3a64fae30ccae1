"""What becomes of a pod when it is written, and what each subresource may change."""

import copy
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.registry.kinds.pod_strategy import (
    create_pod,
    ephemeral_containers,
    has_settled_addresses,
    pod_status,
    resize,
    settle_addresses,
    update_pod,
)

NOW = 1767225600.0
KIND = builtin_kinds().named("pods")


def pod(**more: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
    metadata = {"name": "p", "generation": 3, **more.pop("metadata", {})}
    return copy.deepcopy({"metadata": metadata, "spec": {**spec, **more.pop("spec", {})}, **more})


def test_new_pod_is_pending_whatever_its_client_says() -> None:
    doc = pod(status={"phase": "Running", "podIP": "1.2.3.4"})
    create_pod(KIND, doc, NOW)
    assert doc["status"] == {"phase": "Pending", "qosClass": "Burstable"}
    assert doc["metadata"]["generation"] == 1


def test_gated_pod_says_that_it_is_not_scheduled() -> None:
    doc = pod(spec={"schedulingGates": [{"name": "g"}]})
    create_pod(KIND, doc, NOW)
    (condition,) = doc["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    assert condition["lastTransitionTime"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("holder", "expected"),
    [
        pytest.param(
            {"matchLabelKeys": ["app"]}, [{"key": "app", "operator": "In", "values": ["web"]}], id="of-the-same"
        ),
        pytest.param(
            {"mismatchLabelKeys": ["app"]}, [{"key": "app", "operator": "NotIn", "values": ["web"]}], id="of-others"
        ),
        pytest.param({"matchLabelKeys": ["nope"]}, None, id="a-label-it-has-not"),
    ],
)
def test_label_keys_become_expressions(holder: dict[str, Any], expected: Any) -> None:
    term = {"topologyKey": "zone", "labelSelector": {}, **holder}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    doc = pod(metadata={"labels": {"app": "web"}}, spec={"affinity": affinity})
    create_pod(KIND, doc, NOW)
    create_pod(KIND, doc, NOW)  # its generated name was taken
    (found,) = doc["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert found["labelSelector"].get("matchExpressions") == expected


def test_update_leaves_the_status_and_counts_changes_of_the_spec() -> None:
    old = pod(status={"phase": "Running"}, spec={"resources": {"limits": {"cpu": "2"}}})
    new = pod(status={"phase": "Failed"}, spec={"activeDeadlineSeconds": 5})
    update_pod(KIND, new, old, NOW)
    assert new["status"] == {"phase": "Running"}
    assert new["spec"]["resources"] == {"limits": {"cpu": "2"}}, "who does not know of them does not take them away"
    assert new["metadata"]["generation"] == 4


def test_status_leaves_spec_and_owners_and_keeps_what_only_the_server_knows() -> None:
    old = pod(metadata={"ownerReferences": [{"uid": "u"}]}, status={"phase": "Pending", "qosClass": "Burstable"})
    new = pod(
        metadata={"labels": {"a": "b"}, "ownerReferences": []}, spec={"nodeName": "n"}, status={"phase": "Running"}
    )
    pod_status(KIND, new, old, NOW)
    assert new["spec"] == old["spec"]
    assert new["metadata"]["ownerReferences"] == [{"uid": "u"}]
    assert new["metadata"]["labels"] == {"a": "b"}
    assert new["status"] == {"phase": "Running", "qosClass": "Burstable"}


@pytest.mark.parametrize(
    ("status", "was_settled", "expected"),
    [
        pytest.param({}, True, {}, id="none"),
        pytest.param({"podIP": "a"}, False, {"podIP": "a", "podIPs": [{"ip": "a"}]}, id="only-the-one"),
        pytest.param({"podIPs": [{"ip": "a"}]}, False, {"podIP": "a", "podIPs": [{"ip": "a"}]}, id="only-the-list"),
        pytest.param(
            {"podIP": "b", "podIPs": [{"ip": "a"}]}, False, {"podIP": "b", "podIPs": [{"ip": "b"}]}, id="they-differ"
        ),
        pytest.param(
            {"podIP": "a", "podIPs": [{"ip": "a"}, {"ip": "c"}]}, True,
            {"podIP": "a", "podIPs": [{"ip": "a"}, {"ip": "c"}]}, id="agreed",
        ),
    ],
)  # fmt: skip
def test_addresses(status: dict[str, Any], was_settled: bool, expected: dict[str, Any]) -> None:
    assert has_settled_addresses(status) is was_settled
    settle_addresses(status)
    assert status == expected
    assert has_settled_addresses(status)


def test_only_ephemeral_containers_come_through_their_subresource() -> None:
    old = pod()
    new = pod(metadata={"labels": {"a": "b"}}, spec={"ephemeralContainers": [{"name": "d"}], "nodeName": "n"})
    ephemeral_containers(KIND, new, old, NOW)
    assert new["spec"] == {**old["spec"], "ephemeralContainers": [{"name": "d"}]}
    assert "labels" not in new["metadata"]
    assert new["metadata"]["generation"] == 4


def test_resize_takes_resources_of_containers_and_nothing_else() -> None:
    old, new = pod(), pod(spec={"nodeName": "n"})
    new["spec"]["containers"][0].update(image="other", resources={"requests": {"cpu": "2"}})
    resize(KIND, new, old, NOW)
    assert new["spec"] == {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]}
    assert new["metadata"]["generation"] == 4


def test_resize_leaves_renamed_containers_to_validation() -> None:
    old, new = pod(), pod()
    new["spec"]["containers"][0]["name"] = "d"
    resize(KIND, new, old, NOW)
    assert new["spec"]["containers"][0]["name"] == "d"


def test_resize_without_a_change_is_none() -> None:
    old, new = pod(), pod()
    resize(KIND, new, old, NOW)
    assert new["metadata"]["generation"] == 3
