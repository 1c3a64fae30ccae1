"""Claims and volumes that a dump leaves out."""

from typing import Any

from doorman.snapshot.left_out_claims import LeftOutClaims


def pod(name: str, node: str, *claims: str) -> dict[str, Any]:
    volumes: list[dict[str, Any]] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    volumes.append({"name": "scratch", "ephemeral": {}})
    metadata = {"name": name, "namespace": "default"}
    return {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": node, "volumes": volumes}}


def claim(name: str, volume: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {"volumeName": volume}}


def test_what_running_pods_use_stands_in_and_nothing_else() -> None:
    found = LeftOutClaims()
    for doc in (
        pod("runs", "n1", "known", "unknown"),
        pod("waits", "", "never"),
        claim("known", "v-known"),
        claim("pending", ""),
        {"kind": "PersistentVolume", "metadata": {"name": "v-known"}},
    ):
        found.see(doc)
    made = [(doc["kind"], doc["metadata"]["name"]) for doc in found.stand_ins()]
    assert made == [
        ("PersistentVolumeClaim", "unknown"),
        ("PersistentVolumeClaim", "runs-scratch"),
        ("PersistentVolume", "left-out-default-unknown"),
        ("PersistentVolume", "left-out-default-runs-scratch"),
    ]


def test_volume_of_a_claim_is_bound_to_it() -> None:
    found = LeftOutClaims()
    found.see(claim("c", "v"))
    [volume] = found.stand_ins()
    assert volume["spec"]["claimRef"]["uid"] == "uid-c"
    assert "nodeAffinity" not in volume["spec"]
