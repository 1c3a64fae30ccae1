"""Options of pods/log."""

import pytest

from doorman.base.errors import ApiError
from doorman.server.request import Query
from doorman.server.subresources.pod_logs import LogOptions, parse_log_options


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("", LogOptions(), id="none"),
        pytest.param("follow=true&container=c&previous=false", LogOptions(follow=True, container="c"), id="flags"),
        pytest.param("tailLines=0&limitBytes=1", LogOptions(tail_lines=0, limit_bytes=1), id="bounds"),
        pytest.param("sinceSeconds=5", LogOptions(since_seconds=5), id="since"),
        pytest.param("sinceTime=1970-01-01T00:01:00Z", LogOptions(since=60.0), id="since-time"),
    ],
)
def test_options(query: str, expected: LogOptions) -> None:
    assert parse_log_options("p", Query(query)) == expected


@pytest.mark.parametrize(
    ("query", "code", "text"),
    [
        pytest.param("tailLines=-1", 422, "tailLines: Invalid value: -1: must be greater than or", id="tail"),
        pytest.param("limitBytes=0", 422, "limitBytes: Invalid value: 0: must be greater than 0", id="limit"),
        pytest.param("sinceSeconds=0", 422, "sinceSeconds: Invalid value: 0: must be greater than 0", id="since"),
        pytest.param(
            "sinceSeconds=1&sinceTime=1970-01-01T00:01:00Z", 422,
            "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified", id="both",
        ),
        pytest.param("stream=Stdout", 422, "stream: Forbidden: may not be specified", id="stream"),
        pytest.param("tailLines=many", 400, 'strconv.ParseInt: parsing "many": invalid syntax', id="no-number"),
        pytest.param("sinceTime=soon", 400, 'parsing time "soon"', id="no-time"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense(query: str, code: int, text: str) -> None:
    with pytest.raises(ApiError) as raised:
        parse_log_options("p", Query(query))
    assert raised.value.code == code
    assert text in raised.value.message
