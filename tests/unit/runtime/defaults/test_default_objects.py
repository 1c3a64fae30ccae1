"""What a server does first, where the store does not answer, or refuses."""

import pytest

from doorman.base.clock import ManualClock
from doorman.base.errors import ApiError, GroupResource, already_exists, timeout, too_many_requests
from doorman.runtime.defaults.default_objects import attempt, until_answered
from doorman.runtime.virtual_time import run_virtual

AWAY = (
    timeout("request did not complete within the allotted timeout"),
    too_many_requests("etcdserver: too many requests", retry_after_seconds=1),
    ApiError(500, "", "etcdserver: mvcc: database space exceeded"),
)
REFUSED = ApiError(403, "Forbidden", "a policy is in the way")


async def failing(errors: list[ApiError]) -> None:
    if errors:
        raise errors.pop(0)


def test_what_a_store_does_not_answer_is_asked_again() -> None:
    errors = [*AWAY]
    clock = ManualClock()
    run_virtual(until_answered(lambda: attempt(failing(errors), "something")), clock=clock)
    assert not errors


@pytest.mark.parametrize("error", [REFUSED, already_exists(GroupResource("", "nodes"), "node-1")])
def test_what_is_refused_is_done_without(error: ApiError) -> None:
    errors = [error, REFUSED]
    run_virtual(until_answered(lambda: attempt(failing(errors), "something")), clock=ManualClock())
    assert errors == [REFUSED]


def test_what_is_not_passing_is_told() -> None:
    errors = [REFUSED]
    with pytest.raises(ApiError, match="in the way"):
        run_virtual(until_answered(lambda: failing(errors)), clock=ManualClock())
