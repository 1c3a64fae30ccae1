"""Which form an answer takes."""

import pytest

from doorman.base.errors import ApiError
from doorman.server.codec.negotiation import negotiate, wants_aggregated_discovery

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

OLDER = AGGREGATED.replace("v=v2", "v=v2beta1")


@pytest.mark.parametrize(
    ("accept", "media", "conversion"),
    [
        pytest.param("", "application/json", "", id="nothing-said"),
        pytest.param("*/*", "application/json", "", id="anything"),
        pytest.param("*", "application/json", "", id="a-star-alone"),
        pytest.param("application/yaml", "application/yaml", "", id="yaml"),
        pytest.param("application/json;q=0.5, application/yaml", "application/yaml", "", id="by-quality"),
        pytest.param("application/*", "application/json", "", id="first-of-a-type"),
        pytest.param("application/vnd.kubernetes.protobuf,application/json", "application/json", "", id="client-go"),
        pytest.param(f"{TABLE},application/json", "application/json", "Table", id="kubectl-get"),
        pytest.param("application/json;as=Other;v=v1;g=meta.k8s.io,*/*", "application/json", "", id="conversion"),
        pytest.param("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", "application/json", "", id="v2"),
        pytest.param(
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            "application/json",
            "PartialObjectMetadataList",
            id="garbage-collector",
        ),
        pytest.param("text/html,application/json;q=0.1", "application/json", "", id="browser"),
    ],
)
def test_negotiate(accept: str, media: str, conversion: str) -> None:
    found = negotiate(accept)
    assert (found.media_type, found.conversion) == (media, conversion)


@pytest.mark.parametrize(
    ("accept", "is_watch"),
    [
        pytest.param("text/html", False, id="html"),
        pytest.param("application/vnd.kubernetes.protobuf", False, id="protobuf-alone"),
        pytest.param("application/yaml", True, id="a-watch-in-yaml"),
        pytest.param("application/json;stream=other", False, id="stream"),
        pytest.param("application/json;sv=v2", False, id="version-of-a-stream"),
    ],
)
def test_nothing_fits(accept: str, is_watch: bool) -> None:
    with pytest.raises(ApiError) as caught:
        negotiate(accept, is_watch=is_watch)
    assert (caught.value.code, caught.value.reason) == (406, "NotAcceptable")


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param(f"{AGGREGATED},application/json", True, id="kubectl"),
        pytest.param(f"{AGGREGATED};profile=nopeer,application/json", True, id="profile"),
        pytest.param(
            f"{AGGREGATED.replace('v=v2', 'v=v2beta1')},{AGGREGATED},application/json", True, id="older-first"
        ),
        pytest.param(f"{AGGREGATED.replace('v=v2', 'v=v2beta1')},application/json", False, id="older-only"),
        pytest.param(f"application/json,{AGGREGATED};q=0.5", False, id="plain-is-liked-better"),
        pytest.param("", False, id="nothing-said"),
    ],
)
def test_aggregated_discovery(accept: str, expected: bool) -> None:
    assert wants_aggregated_discovery(accept) is expected


def test_kinds_that_are_only_posted_have_no_tables() -> None:
    assert negotiate(f"{TABLE},application/json", converts=False).conversion == ""
    with pytest.raises(ApiError) as caught:
        negotiate(TABLE, converts=False)
    assert caught.value.code == 406
