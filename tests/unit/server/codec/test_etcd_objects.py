"""Objects between what is kept here and what etcd holds."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doorman.api.kinds import Kind
from doorman.api.scheme import builtin_scheme
from doorman.server.codec.etcd_objects import EtcdObjects
from doorman.server.codec.stored_definitions import from_v1beta1

VALUES: dict[str, str] = json.loads((Path(__file__).parents[3] / "data" / "etcd-values.json").read_text())["values"]
BUILTIN = sorted(
    key for key in VALUES if key.split("/")[2] not in ("peerserverleases", "apiextensions.k8s.io", "cr.bar.com")
)
DEFINITION = "/registry/apiextensions.k8s.io/customresourcedefinitions/bars.cr.bar.com"


@pytest.fixture
def objects() -> EtcdObjects:
    scheme = builtin_scheme()
    bars = Kind(
        group="cr.bar.com", version="v1", resource="bars", singular="bar", kind="Bar", namespaced=True,
        storage="bars.cr.bar.com", is_custom=True,
    )  # fmt: skip
    scheme.kinds.replace("bars.cr.bar.com", [bars])
    return EtcdObjects(scheme.kinds, scheme.schema, event_seconds=3600)


def bare(key: str) -> str:
    return key.removeprefix("/registry/")


def document(kept: bytes) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(b'{"metadata":{' + kept)
    return found


@pytest.mark.parametrize("etcd_key", BUILTIN)
def test_value_of_a_kube_apiserver_is_written_back_byte_for_byte(objects: EtcdObjects, etcd_key: str) -> None:
    key = objects.from_etcd_key(bare(etcd_key))
    assert key is not None
    assert objects.to_etcd_key(key) == bare(etcd_key)
    value = VALUES[etcd_key].rstrip("\n").encode() + b"\n"
    assert objects.to_value(key, objects.to_kept(key, value)) == value


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("minions/node-1", "nodes/node-1"),
        ("services/specs/default/web", "services/default/web"),
        ("services/endpoints/default/web", "endpoints/default/web"),
        ("ingress/default/web", "ingresses.networking.k8s.io/default/web"),
        ("clusterroles/system:node", "clusterroles.rbac.authorization.k8s.io/system:node"),
        ("example.com/widgets/default/w", "widgets.example.com/default/w"),
        ("doorman.dev/tolerationpolicies/p", "tolerationpolicies.doorman.dev/p"),
        ("ranges/servicenodeports", "rangeallocations/servicenodeports"),
        ("masterleases/192.0.2.1", "masterleases/192.0.2.1"),
    ],
)
def test_keys_both_ways(objects: EtcdObjects, key: str, expected: str) -> None:
    assert objects.from_etcd_key(key) == expected
    assert objects.to_etcd_key(expected) == key


@pytest.mark.parametrize(
    ("key", "seconds"),
    [("events/default/e", 3600), ("masterleases/192.0.2.1", 15), ("rangeallocations/servicenodeports", 0), ("a/b", 0)],
)
def test_what_lives_for_a_time(objects: EtcdObjects, key: str, seconds: int) -> None:
    assert objects.seconds_to_live(key) == seconds


def test_bitmap_of_an_empty_cluster_is_read_as_protobuf(objects: EtcdObjects) -> None:
    value = bytes.fromhex(
        "6b3873000a150a027631120f52616e6765416c6c6f636174696f6e12210a100a0012001a0022002a00320038004200"
        "120b33303030302d33323736371a001a002200"
    )
    found = document(objects.to_kept("rangeallocations/servicenodeports", value))
    assert (found["metadata"]["name"], found["range"]) == ("servicenodeports", "30000-32767")


@pytest.mark.parametrize("key", ["peerserverleases/a", "health", "a.b/c", "newkind/x"])
def test_keys_of_no_kind_are_nobodys(objects: EtcdObjects, key: str) -> None:
    assert objects.from_etcd_key(key) is None


def test_definition_in_the_old_version_is_read(objects: EtcdObjects) -> None:
    key = objects.from_etcd_key(bare(DEFINITION))
    assert key is not None
    spec = document(objects.to_kept(key, VALUES[DEFINITION].encode()))["spec"]
    assert set(spec["versions"][0]) >= {"name", "served", "storage", "schema", "additionalPrinterColumns"}
    assert spec["versions"][0]["additionalPrinterColumns"][0]["jsonPath"] == ".a"
    assert "validation" not in spec
    assert b'"apiVersion":"apiextensions.k8s.io/v1"' in objects.to_value(
        key, objects.to_kept(key, VALUES[DEFINITION].encode())
    )


def test_old_conversion_webhook_has_a_member_of_its_own() -> None:
    conversion = {
        "strategy": "Webhook",
        "webhookClientConfig": {"url": "https://a"},
        "conversionReviewVersions": ["v1"],
    }
    new = from_v1beta1({"spec": {"version": "v1", "conversion": conversion, "preserveUnknownFields": None}})["spec"]
    assert new["conversion"] == {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1"]},
    }
    assert "preserveUnknownFields" not in new


def test_custom_object_is_written_in_order_of_its_members(objects: EtcdObjects) -> None:
    key = "bars.cr.bar.com/default/b"
    value = (
        b'{"apiVersion":"cr.bar.com/v1","b":1,"kind":"Bar","metadata":{"name":"b","uid":"u"},"spec":{"a":2,"z":1}}\n'
    )
    kept = objects.to_kept(key, value)
    assert document(kept) == {"metadata": {"name": "b", "uid": "u"}, "b": 1, "spec": {"a": 2, "z": 1}}
    assert objects.to_value(key, kept) == value


def test_custom_object_of_several_versions_remembers_its_own(objects: EtcdObjects) -> None:
    definition = json.loads(VALUES[DEFINITION])
    definition["spec"]["versions"] = [
        {"name": "v1", "served": True, "storage": True}, {"name": "v2", "served": True, "storage": False}
    ]  # fmt: skip
    objects.to_kept("customresourcedefinitions.apiextensions.k8s.io/bars.cr.bar.com", json.dumps(definition).encode())
    value = b'{"apiVersion":"cr.bar.com/v2","kind":"Bar","metadata":{"name":"b"}}\n'
    kept = objects.to_kept("bars.cr.bar.com/default/b", value)
    assert document(kept)["$version"] == "v2"
    assert objects.to_value("bars.cr.bar.com/default/b", kept) == value


def test_what_was_put_by_hand_is_cleaned_and_defaulted(objects: EtcdObjects) -> None:
    pod = {
        "apiVersion": "v1", "kind": "Pod", "nobody": "knows",
        "metadata": {"resourceVersion": "7", "name": "p", "namespace": "default"},
        "spec": {"containers": [{"image": "i", "name": "c"}]},
    }  # fmt: skip
    doc = document(objects.to_kept("pods/default/p", json.dumps(pod).encode()))
    assert doc["spec"]["restartPolicy"] == "Always"
    assert "nobody" not in doc
    assert "resourceVersion" not in doc["metadata"]


def test_event_about_an_object_at_a_revision_is_taken_as_it_is(objects: EtcdObjects) -> None:
    head = b'{"kind":"Event","apiVersion":"v1","metadata":{'
    kept = b'"name":"e","managedFields":[]},"involvedObject":{"kind":"Pod","resourceVersion":"7"},"odd":1}'
    assert objects.to_kept("events/default/e", head + kept + b"\n") == kept
    own = b'"name":"e","resourceVersion":"7","managedFields":[]},"involvedObject":{"kind":"Pod"}}'
    assert b'"resourceVersion"' not in objects.to_kept("events/default/e", head + own + b"\n")


def test_other_version_is_converted(objects: EtcdObjects) -> None:
    scaler = {
        "kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1", "metadata": {"name": "h", "namespace": "d"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3,
                 "targetCPUUtilizationPercentage": 50},
    }  # fmt: skip
    key = "horizontalpodautoscalers.autoscaling/d/h"
    doc = document(objects.to_kept(key, json.dumps(scaler).encode()))
    assert doc["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 50


def test_protobuf_is_read(objects: EtcdObjects) -> None:
    name, namespace = b"\x0a\x01c", b"\x1a\x01d"
    meta = name + namespace
    raw = b"\x0a" + bytes([len(meta)]) + meta + b"\x12\x06\x0a\x01k\x12\x01v"
    head = b"\x0a\x02v1\x12\x09ConfigMap"
    value = b"k8s\0\x0a" + bytes([len(head)]) + head + b"\x12" + bytes([len(raw)]) + raw
    doc = document(objects.to_kept("configmaps/d/c", value))
    assert (doc["metadata"]["name"], doc["data"]) == ("c", {"k": "v"})


@pytest.mark.parametrize(
    "value",
    [b"k8s:enc:aescbc:v1:key1:\x00\x01", b"\xd9\xd9\xf7\xa1", b'{"kind":"Pod","apiVersion":"v1","metadata":{"na', b"",
     b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"p"}}', b'{"kind":"Pod","apiVersion":"v9","metadata":{}}',
     b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":7}}', b"null", b"[]"],
)  # fmt: skip
def test_what_cannot_be_read_stays_as_it_is(objects: EtcdObjects, value: bytes) -> None:
    """No reader takes it for an object, and its bytes are not lost."""
    assert objects.to_kept("pods/default/p", value) == value


def test_only_events_are_given_a_time_to_live(objects: EtcdObjects) -> None:
    assert objects.seconds_to_live("events/default/e") == 3600
    assert objects.seconds_to_live("pods/default/p") == 0


def test_defaults_that_a_kube_apiserver_fills_in_when_it_reads_are_filled_in(objects: EtcdObjects) -> None:
    value = (
        b'{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"c","namespace":"d","managedFields":[]},'
        b'"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{}}\n'
    )
    doc = document(objects.to_kept("persistentvolumeclaims/d/c", value))
    assert doc["status"] == {"phase": "Pending"}
    assert doc["spec"]["volumeMode"] == "Filesystem"


def test_node_is_taken_as_it_is_unless_a_default_is_wanting(objects: EtcdObjects) -> None:
    """What can be allocated is the capacity, if nothing is said of it; a member of its own that is unknown tells."""
    head = b'{"kind":"Node","apiVersion":"v1","metadata":{'
    whole = b'"name":"n","managedFields":[]},"status":{"allocatable":{"cpu":"4"},"capacity":{"cpu":"8"}},"odd":1}'
    without = b'"name":"n","managedFields":[]},"spec":{},"odd":1}'
    for kept in (whole, without):
        assert objects.to_kept("nodes/n", head + kept + b"\n") == kept
    wanting = b'"name":"n","managedFields":[]},"status":{"capacity":{"cpu":"8"}},"odd":1}'
    doc = document(objects.to_kept("nodes/n", head + wanting + b"\n"))
    assert doc["status"]["allocatable"] == {"cpu": "8"}
    assert "odd" not in doc
