"""Versions are in the same places but for those named; pods that have ended are in none of the unfinished ones."""

from hypothesis import given
from hypothesis import strategies as st

from doorman.api.views.meta import ObjectMeta, OwnerReference
from doorman.api.views.pod_indexes import POD_INDEXERS, UNFINISHED_BY_NODE, UNFINISHED_BY_OWNER, moved_between
from doorman.api.views.pods import Pod, PodSpec, PodStatus
from doorman.client.informer_cache import InformerCache

_OWNERS = st.lists(
    st.builds(OwnerReference, uid=st.sampled_from(("u1", "u2")), controller=st.booleans()), max_size=2
).map(tuple)
_PODS = st.builds(
    Pod,
    metadata=st.builds(
        ObjectMeta,
        name=st.just("a"),
        namespace=st.just("default"),
        deletion_timestamp=st.sampled_from(("", "2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z")),
        owner_references=_OWNERS,
    ),
    spec=st.builds(PodSpec, node_name=st.sampled_from(("", "n1", "n2"))),
    status=st.builds(PodStatus, phase=st.sampled_from(("", "Pending", "Running", "Succeeded", "Failed", "Odd"))),
)
PLACES = {UNFINISHED_BY_NODE: ("n1", "n2", ""), UNFINISHED_BY_OWNER: ("u1", "u2")}


@given(one=_PODS, other=_PODS)
def test_versions_are_in_the_same_places_but_for_those_named(one: Pod, other: Pod) -> None:
    moved = moved_between(one, other)
    for name, indexer in POD_INDEXERS.items():
        assert moved is None or name in moved or indexer(one) == indexer(other)


@given(versions=st.lists(_PODS, min_size=1, max_size=8))
def test_cache_that_takes_the_short_cut_answers_as_one_that_does_not(versions: list[Pod]) -> None:
    short: InformerCache[Pod] = InformerCache(POD_INDEXERS, moved_between)
    long: InformerCache[Pod] = InformerCache(POD_INDEXERS)
    for version in versions:
        short.put("default/a", version)
        long.put("default/a", version)
        for index in POD_INDEXERS:
            places = sorted(long.places(index))
            assert sorted(short.places(index)) == places
            assert [short.by(index, place) for place in places] == [long.by(index, place) for place in places]


@given(pod=_PODS)
def test_ended_pods_are_not_among_the_unfinished(pod: Pod) -> None:
    cache: InformerCache[Pod] = InformerCache(POD_INDEXERS)
    cache.put("default/a", pod)
    for index, places in PLACES.items():
        found = any(cache.by(index, place) for place in places)
        is_placed = index == UNFINISHED_BY_NODE or bool(pod.metadata.owner_references)
        assert found == (is_placed and not pod.is_finished)
