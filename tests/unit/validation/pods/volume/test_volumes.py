"""Volumes of pods, PersistentVolumes and claims: what is refused, in which words."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.pods.volume.volumes import device_errors, mount_errors, volume_errors
from doorman.validation.validators import validator_of

KEY = {"key": "k", "path": "p"}
RESERVED = "kubernetes.io and k8s.io namespaces are reserved"
TWO = "Forbidden: may not specify more than 1 volume type"
ROWS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("emptyDir", {"emptyDir": {}}, []),
    ("none", {}, ["v[0]: Required value: must specify a volume type"]),
    ("two", {"emptyDir": {}, "nfs": {"server": "s", "path": "/"}}, [f"v[0].nfs: {TWO}"]),
    ("hostPath back", {"hostPath": {"path": "/a/.."}},
     ["v[0].hostPath.path: Invalid value: \"/a/..\": must not contain '..'"]),
    ("nfs", {"nfs": {}}, ["v[0].nfs.server: Required value", "v[0].nfs.path: Required value",
                          'v[0].nfs.path: Invalid value: "": must be an absolute path']),
    ("iscsi", {"iscsi": {"iqn": "x", "lun": 300}},
     ["v[0].iscsi.targetPortal: Required value",
      'v[0].iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa',
      "v[0].iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive"]),
    ("rbd", {"rbd": {}}, ["v[0].rbd.monitors: Required value", "v[0].rbd.image: Required value"]),
    ("secret mode", {"secret": {"secretName": "s", "defaultMode": 512}},
     ["v[0].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive"]),
    ("downward", {"downwardAPI": {"items": [{"path": "a"}]}},
     ["v[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"]),
    ("projected twice", {"projected": {"sources": [{"secret": {"name": "a", "items": [KEY]}},
                                                   {"configMap": {"name": "b", "items": [KEY]}}]}},
     ['v[0].projected: Invalid value: "b": conflicting duplicate paths']),
    ("token", {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 1}}]}},
     ["v[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: "
      "may not specify a duration less than 10 minutes"]),
    ("flex", {"flexVolume": {"driver": "d", "options": {"k8s.io/a": "b"}}},
     [f'v[0].flexVolume.options[k8s.io/a]: Invalid value: "k8s.io/a": {RESERVED}']),
    ("ephemeral", {"ephemeral": {}}, ["v[0].ephemeral.volumeClaimTemplate: Required value"]),
    ("image", {"image": {"pullPolicy": "Always"}}, ["v[0].image.reference: Required value"]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_sources(source: dict[str, Any], expected: list[str]) -> None:
    errors: list[Any] = []
    good = volume_errors([{"name": "a", **source}], "pod", "v", errors)
    assert [str(error) for error in errors] == expected
    assert list(good) == ([] if expected else ["a"])


def test_names_of_volumes() -> None:
    errors: list[Any] = []
    volume_errors([{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}, {"emptyDir": {}}], "", "v", errors)
    assert [str(error) for error in errors] == ['v[1].name: Duplicate value: "a"', "v[2].name: Required value"]


def test_a_claim_made_for_a_volume_is_not_to_be_used_by_another() -> None:
    errors: list[Any] = []
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    volume_errors([made, {"name": "b", "persistentVolumeClaim": {"claimName": "p-e"}}], "p", "v", errors)
    assert [str(error) for error in errors] == [
        'v[1].persistentVolumeClaim.claimName: Invalid value: "p-e": '
        "must not reference a PVC that gets created for an ephemeral volume"
    ]


def test_mounts_and_devices() -> None:
    container = {
        "volumeMounts": [{"name": "a", "mountPath": "/a", "subPath": "../b", "recursiveReadOnly": "Enabled"}],
        "volumeDevices": [{"name": "a", "devicePath": "/a"}],
    }
    volumes = {"a": {"emptyDir": {}}}
    assert [str(error) for error in mount_errors(container, volumes, "m")] == [
        'm[0].name: Invalid value: "a": must not already exist in volumeDevices',
        'm[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices',
        "m.subPath: Invalid value: \"../b\": must not contain '..'",
        "m.recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
    ]
    assert [str(error) for error in device_errors(container, volumes, "d")] == [
        'd[0].name: Invalid value: "a": can only use volume source type of PersistentVolumeClaim or Ephemeral for '
        "block mode",
        'd[0].name: Invalid value: "a": must not already exist in volumeMounts',
        'd[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts',
    ]


def test_volume_of_the_cluster() -> None:
    def create(**spec: Any) -> list[str]:
        doc = {"metadata": {"name": "x"}, "spec": spec}
        return [str(error) for error in validator_of("persistentvolumes").create(doc, Context())]

    whole = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}
    assert create(**whole) == []
    assert create(**{**whole, "hostPath": None, "local": {"path": "/a"}}) == [
        "spec.nodeAffinity: Required value: Local volume requires node affinity"
    ]
    assert create(**{**whole, "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"]}) == [
        "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"
    ]


def test_claim() -> None:
    validator = validator_of("persistentvolumeclaims")
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    doc = {"metadata": {"name": "x", "uid": "u"}, "spec": spec, "status": {"phase": "Bound"}}
    assert validator.create(doc, Context()) == []
    more = {**doc, "spec": {**spec, "resources": {"requests": {"storage": "2Gi"}}}}
    assert validator.update(more, doc, Context()) == [], "a bound claim may grow"
    other = {**doc, "spec": {**spec, "accessModes": ["ReadOnlyMany"]}}
    (error,) = validator.update(other, doc, Context())
    assert error.body.startswith("Forbidden: spec is immutable after creation except resources.requests and")
    assert [str(error) for error in validator.create({"metadata": {"name": "x"}}, Context())] == [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
    ]
