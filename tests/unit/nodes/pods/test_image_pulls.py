"""Images that cannot be pulled, as a kubelet tells of them."""

from typing import Any

import pytest

from doorman.api.views.coordination import Lease
from doorman.api.views.pods import Pod
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.pods.image_pulls import failing_containers, failing_patterns
from doorman.nodes.profile import NodeProfile, simulated_node
from support.objects import pod
from support.scheduling import make_pod
from support.stage import Stage

LEASES = "leases.coordination.k8s.io"
ERROR = (
    'rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/nope:latest": '
    'failed to resolve reference "docker.io/library/nope:latest": docker.io/library/nope:latest: not found'
)


def stage_with(*patterns: str) -> Stage:
    stage = Stage({LEASES: Lease})
    stage.create("nodes", simulated_node("node-1", NodeProfile(failing_images=patterns)))
    stage.add(SimulatedNodes(stage.caches["nodes"], stage.caches["pods"], stage.caches[LEASES]))
    stage.settle()
    return stage


def status_of(stage: Stage, name: str = "p") -> dict[str, Any]:
    document = stage.get("pods", f"default/{name}")
    assert document is not None
    status: dict[str, Any] = document["status"]
    return status


def container(name: str, image: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": image, **more}


def spec(*images: str, inits: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    return {
        "containers": [container(f"c{at}", image, **more) for at, image in enumerate(images)],
        "initContainers": [container(f"i{at}", image, **more) for at, image in enumerate(inits)],
    }


def waits(status: dict[str, Any], kind: str = "containerStatuses") -> list[str]:
    return [one["state"].get("waiting", {}).get("reason", next(iter(one["state"]))) for one in status[kind]]


@pytest.mark.parametrize(
    ("pattern", "image", "fails"),
    [
        pytest.param("nope", "nope", True, id="rule-1-as-written"),
        pytest.param("nope:latest", "nope", True, id="rule-1-with-its-tag"),
        pytest.param("docker.io/library/*", "nope", True, id="rule-1-with-its-registry"),
        pytest.param("example.com/*", "example.com/a/b:1", True, id="rule-1-a-star-takes-slashes"),
        pytest.param("*:1.2?", "web:1.27", True, id="rule-1-one-character"),
        pytest.param("*:1.2?", "web:1.2", False, id="rule-1-other-tag"),
        pytest.param("web", "webs", False, id="rule-1-the-whole-name"),
        pytest.param("*:latest", "web@sha256:" + "0" * 64, False, id="rule-1-a-digest-has-no-tag"),
        pytest.param("*", "anything", True, id="rule-1-all"),
        pytest.param("a, nope ,b", "nope", True, id="rule-1-several"),
        pytest.param("", "nope", False, id="rule-1-none"),
    ],
)
def test_images_that_fail(pattern: str, image: str, fails: bool) -> None:
    one: Pod = make_pod("p", containers=[container("c", image)])
    patterns = failing_patterns({"doorman.dev/failing-images": pattern}, {})
    assert bool(failing_containers(one, patterns)) is fails


def test_pulls_back_off_as_with_a_kubelet() -> None:
    stage = stage_with("nope")
    stage.create("pods", pod("p", "node-1", spec=spec("nope")))
    stage.at(0)
    assert waits(status_of(stage)) == ["ErrImagePull"]
    assert status_of(stage)["containerStatuses"][0]["state"]["waiting"]["message"] == ERROR
    stage.at(1)
    assert waits(status_of(stage)) == ["ImagePullBackOff"]
    message = status_of(stage)["containerStatuses"][0]["state"]["waiting"]["message"]
    assert message == f'Back-off pulling image "nope": ErrImagePull: {ERROR}'
    stage.at(1000)
    assert [at for at, _ in stage.messages("Pulling")] == [0, 10, 30, 70, 150, 310, 610, 910]
    assert [at for at, _ in stage.messages("BackOff")] == [1, 11, 31, 71, 151, 311, 611, 911]
    failed = [text for at, text in stage.messages("Failed") if at <= 1]
    assert failed == [f'Failed to pull image "nope": {ERROR}', "Error: ErrImagePull", "Error: ImagePullBackOff"]
    status = status_of(stage)
    assert (status["phase"], status["startTime"]) == ("Pending", "2026-01-01T00:00:00Z")


def test_image_that_comes_is_pulled_at_the_next_try_and_the_pod_runs() -> None:
    stage = stage_with("nope")
    stage.create("pods", pod("p", "node-1", spec=spec("nope")))
    stage.at(12)
    stage.patch("nodes", "node-1", {"metadata": {"annotations": {"doorman.dev/failing-images": None}}})
    stage.at(29)
    assert status_of(stage)["phase"] == "Pending"
    stage.at(30)
    assert status_of(stage)["phase"] == "Running"
    assert [at for at, _ in stage.messages("Pulled")] == [30.0]


def test_containers_beside_the_failing_one_run_and_the_pod_is_pending() -> None:
    stage = stage_with("nope")
    stage.create("pods", pod("p", "node-1", spec=spec("fine", "nope")))
    stage.at(5)
    status = status_of(stage)
    assert (status["phase"], waits(status)) == ("Pending", ["running", "ImagePullBackOff"])
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    assert (ready["status"], ready["message"]) == ("False", "containers with unready status: [c1]")
    stage.patch("nodes", "node-1", {"metadata": {"annotations": {"doorman.dev/failing-images": None}}})
    stage.at(20)
    began = [one["state"]["running"]["startedAt"] for one in status_of(stage)["containerStatuses"]]
    assert began == ["2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z"]


def test_init_container_without_image_holds_up_all_that_follow() -> None:
    stage = stage_with("nope")
    stage.create("pods", pod("p", "node-1", spec=spec("fine", inits=("fine", "nope", "fine"))))
    stage.at(15)
    status = status_of(stage)
    assert waits(status, "initContainerStatuses") == ["terminated", "ImagePullBackOff", "PodInitializing"]
    assert waits(status) == ["PodInitializing"]
    ended = status["initContainerStatuses"][0]["state"]["terminated"]
    assert ended["finishedAt"] == "2026-01-01T00:00:00Z"
    text = next(one["message"] for one in status["conditions"] if one["type"] == "Initialized")
    assert text == "containers with incomplete status: [i1 i2]"


def test_image_that_is_never_pulled_is_not_there() -> None:
    stage = stage_with()
    metadata = {"annotations": {"doorman.dev/failing-images": "*"}}
    stage.create("pods", pod("p", "node-1", metadata=metadata, spec=spec("nope", imagePullPolicy="Never")))
    stage.at(5)
    assert waits(status_of(stage)) == ["ErrImageNeverPull"]
    text = 'Container image "nope" is not present with pull policy of Never'
    assert stage.messages("ErrImageNeverPull") == [(0.0, text)]
    assert stage.messages("Pulling") == []


def test_pod_that_waits_for_its_image_fails_at_its_deadline() -> None:
    stage = stage_with("nope")
    stage.create("pods", pod("p", "node-1", spec={**spec("nope"), "activeDeadlineSeconds": 17}))
    stage.at(16)
    assert (status_of(stage)["phase"], waits(status_of(stage))) == ("Pending", ["ImagePullBackOff"])
    assert [at for at, _ in stage.messages("Pulling")] == [0.0, 10.0]
    stage.at(17)
    assert (status_of(stage)["phase"], status_of(stage)["reason"]) == ("Failed", "DeadlineExceeded")


def test_deleted_pod_is_gone_and_forgotten() -> None:
    stage = stage_with("nope")
    stage.create("pods", pod("p", "node-1", spec=spec("nope")))
    stage.at(5)
    stage.delete("pods", "default/p")
    stage.at(60)
    assert stage.get("pods", "default/p") is None
    assert [at for at, _ in stage.messages("Pulling")] == [0.0]
