"""When volumes are attached to nodes, and when they may be detached."""

from typing import Any

import pytest

from doorman.api.views.meta import to_view
from doorman.api.views.storage.csi import CsiDriver
from doorman.semantics.volumes.csi_volumes import CsiVolume
from doorman.semantics.volumes.volume_attachments import (
    attached_volumes_of,
    attachment_name,
    decide_detach,
    has_let_go,
    may_be_on_many_nodes,
)
from support.scheduling import make_pod
from support.volumes import bound_claim_view, claim_view, uses, volume_view

CSI = {"driver": "d.example.com", "volumeHandle": "h"}
REFERENCE = {"namespace": "default", "name": "c", "uid": "uid-c"}


def wanted(claim: Any, volume: Any, *, attach_required: bool | None = None) -> list[tuple[str, str]]:
    spec = {} if attach_required is None else {"attachRequired": attach_required}
    driver: CsiDriver = to_view({"metadata": {"name": "d.example.com"}, "spec": spec}, CsiDriver)
    found = attached_volumes_of(
        make_pod("p", volumes=uses("c")),
        {"default/c": claim}.get,
        {"v": volume}.get,
        {"d.example.com": driver}.get,
    )
    return [(name, csi.unique_name) for name, _, csi in found]


@pytest.mark.parametrize(
    ("claim", "volume", "attach_required", "expected"),
    [
        pytest.param(
            bound_claim_view("c", "v"),
            volume_view("v", csi=CSI, claimRef=REFERENCE),
            None,
            [("v0", "kubernetes.io/csi/d.example.com^h")],
            id="rule-1-bound-claim",
        ),
        pytest.param(
            bound_claim_view("c", "v"), volume_view("v", csi=CSI, claimRef=REFERENCE), False, [], id="rule-1-not-asked"
        ),
        pytest.param(claim_view("c"), volume_view("v", csi=CSI), None, [], id="rule-1-not-bound"),
        pytest.param(None, volume_view("v", csi=CSI), None, [], id="rule-1-no-claim"),
        pytest.param(bound_claim_view("c", "v"), None, None, [], id="rule-1-no-volume"),
        pytest.param(
            bound_claim_view("c", "v"), volume_view("v", claimRef=REFERENCE), None, [], id="rule-1-of-no-driver"
        ),
        pytest.param(
            bound_claim_view("c", "v"),
            volume_view("v", csi=CSI, claimRef={**REFERENCE, "uid": "other"}),
            None,
            [],
            id="rule-1-somebody-elses",
        ),
    ],
)
def test_volumes_to_attach(claim: Any, volume: Any, attach_required: bool | None, expected: list[Any]) -> None:
    assert wanted(claim, volume, attach_required=attach_required) == expected


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        pytest.param(["ReadWriteOnce"], False, id="rule-2-once"),
        pytest.param(["ReadWriteOncePod"], False, id="rule-2-one-pod"),
        pytest.param(["ReadWriteOnce", "ReadOnlyMany"], True, id="rule-2-also-many"),
        pytest.param(["ReadWriteMany"], True, id="rule-2-many"),
        pytest.param([], True, id="rule-2-unsaid"),
    ],
)
def test_volume_may_be_on_many_nodes(modes: list[str], expected: bool) -> None:
    assert may_be_on_many_nodes(volume_view("v", modes=modes)) is expected


@pytest.mark.parametrize(
    ("in_use", "is_ready", "is_out_of_service", "forces", "expected"),
    [
        pytest.param(False, True, False, True, 5.0, id="rule-3-unmounted"),
        pytest.param(False, False, False, False, 5.0, id="rule-3-unmounted-on-a-lost-node"),
        pytest.param(True, True, False, True, None, id="rule-4-mounted"),
        pytest.param(True, False, False, True, 365.0, id="rule-4-lost"),
        pytest.param(True, False, False, False, None, id="rule-4-lost-and-switched-off"),
        pytest.param(True, False, True, False, 5.0, id="rule-4-out-of-service"),
        pytest.param(True, True, True, True, 5.0, id="rule-4-out-of-service-though-ready"),
    ],
)
def test_detach(in_use: bool, is_ready: bool, is_out_of_service: bool, forces: bool, expected: float | None) -> None:
    found = decide_detach(5.0, in_use=in_use, is_ready=is_ready, is_out_of_service=is_out_of_service, forces=forces)
    assert found == expected


RUNNING = [{"name": "c", "state": {"running": {}}}]
ENDED = [{"name": "c", "state": {"terminated": {"exitCode": 0}}}]


@pytest.mark.parametrize(
    ("status", "leaving", "expected"),
    [
        pytest.param({"phase": "Running", "containerStatuses": RUNNING}, True, False, id="still runs"),
        pytest.param({"phase": "Running", "containerStatuses": ENDED}, True, True, id="has ended"),
        pytest.param({"phase": "Running", "containerStatuses": ENDED}, False, False, id="may start again"),
        pytest.param(
            {"containerStatuses": ENDED, "initContainerStatuses": RUNNING}, True, False, id="an init container runs"
        ),
        pytest.param({"phase": "Succeeded"}, False, True, id="has succeeded"),
        pytest.param({"phase": "Pending"}, True, True, id="never started"),
    ],
)
def test_pod_has_let_go_when_nothing_of_it_can_run(status: Any, leaving: bool, expected: bool) -> None:
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaving else {}
    assert has_let_go(make_pod("p", status=status, metadata=metadata)) is expected


def test_attachment_is_named_after_the_hash_of_handle_driver_and_node() -> None:
    volume = CsiVolume(driver="d.example.com", handle="h")
    assert attachment_name(volume, "node-1") == "csi-3cfa9efd0ce415e08c7b4f57cf4b0013f3bdd2127d41c8bfe26259ea760a3bf5"
