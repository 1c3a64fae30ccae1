"""Who is asked about which pod, and in which order."""

import pytest

from doorman.scheduler.extenders.extender import Extender, ManagedResource, in_turn
from support.scheduling import make_pod

GPU = (ManagedResource(name="example.com/gpu"),)


@pytest.mark.parametrize(
    ("managed", "requests", "expected"),
    [
        pytest.param((), {}, True, id="rule-1-in-all"),
        pytest.param(GPU, {"cpu": "1"}, False, id="rule-1-names-none"),
        pytest.param(GPU, {"example.com/gpu": "1"}, True, id="rule-1-names-one"),
        pytest.param(GPU, {"example.com/gpu": "0"}, True, id="rule-1-even-of-none"),
    ],
)
def test_interest(managed: tuple[ManagedResource, ...], requests: dict[str, str], expected: bool) -> None:
    extender = Extender(url_prefix="u", managed_resources=managed)
    assert extender.is_interested(make_pod("p", requests=requests)) is expected


def test_limits_and_init_containers_count_for_interest() -> None:
    extender = Extender(url_prefix="u", managed_resources=GPU)
    init = [{"name": "i", "resources": {"limits": {"example.com/gpu": "1"}}}]
    assert extender.is_interested(make_pod("p", initContainers=init))


def test_who_may_be_ignored_is_asked_last() -> None:
    names = [(one.url_prefix, one.ignorable) for one in in_turn(
        [Extender(url_prefix="a", ignorable=True), Extender(url_prefix="b"), Extender(url_prefix="c")]
    )]  # fmt: skip
    assert names == [("b", False), ("c", False), ("a", True)]
