"""Devices and volumes are told together."""

from doorman.api.views.storage.persistent_volumes import CLAIMS
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.claim_states import CLAIM_KINDS, ClaimStates
from doorman.scheduler.queue.queued_pod import QueuedPod
from doorman.scheduler.volumes.pod_volume_bindings import PodVolumeBindings
from support.scheduling import make_pod
from support.volumes import claim_view, uses


def test_pods_without_volumes_are_not_noted_and_those_with_are_forgotten_when_bound() -> None:
    cluster = ClusterState(ResourceIds())
    states, shapes = ClaimStates(cluster, None), cluster.shapes
    for name, claims in (("with", uses("c")), ("without", [{"name": "token", "projected": {}}])):
        pod = make_pod(name, volumes=claims)
        states.queued(QueuedPod(pod.metadata.key, pod, shapes.take(pod), "default-scheduler", 0.0))
    assert CLAIMS in CLAIM_KINDS
    [event] = states.changed(CLAIMS, None, claim_view("c"))
    assert event.only == frozenset({"default/with"})
    states.pod_bound("default/with")
    [event] = states.changed(CLAIMS, claim_view("c"), claim_view("c"))
    assert event.only == frozenset()


def test_what_was_assumed_for_a_pod_ends_with_its_binding_or_failure() -> None:
    cluster = ClusterState(ResourceIds())
    states = ClaimStates(cluster, None)
    claim = claim_view("c")
    states.changed(CLAIMS, None, claim)
    for end in (states.written, states.unreserve, states.pod_gone):
        states.volumes.reserve("default/p", PodVolumeBindings(provisioned=(claim,)), "node-1")
        assert states.volumes.claim("default/c") is not claim
        end("default/p")
        assert states.volumes.claim("default/c") is claim
