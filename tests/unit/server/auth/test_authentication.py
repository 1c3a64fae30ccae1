"""Who is asking."""

import random

import pytest

from doorman.base.errors import ApiError
from doorman.base.generated_names import NameGenerator
from doorman.server.auth.authentication import ClusterAuthenticator
from doorman.server.auth.service_account_tokens import ServiceAccountTokens
from doorman.server.request import Query, Request
from support.api import credentials, running_api


@pytest.mark.parametrize(
    ("header", "name"),
    [
        pytest.param("", "system:anonymous", id="nothing"),
        pytest.param("Bearer secret", "admin", id="token"),
        pytest.param("  bEARER secret ", "admin", id="any-case-and-spaces-around"),
        pytest.param("Bearer  secret", "system:anonymous", id="a-space-too-many"),
        pytest.param("Bearer secret more", "admin", id="more-than-a-token"),
        pytest.param("Bearer ", "system:anonymous", id="empty-token"),
        pytest.param("Basic YTpi", "system:anonymous", id="a-scheme-nobody-reads"),
        pytest.param("Bearer wrong", None, id="wrong"),
        pytest.param("Bearer secret\nBearer secret", None, id="sent-twice"),
        pytest.param("Bearer sécret", None, id="not-ascii"),
    ],
)
async def test_header_tells_who(header: str, name: str | None) -> None:
    async with running_api() as api:
        tokens = ServiceAccountTokens(
            credentials().service_account_key, api.cluster.cache, api.clock, NameGenerator(random.Random(1))
        )
        authenticator = ClusterAuthenticator("secret", tokens)
        headers = {"authorization": header} if header else {}
        request = Request(method="GET", path="/", query=Query(""), headers=headers)
        if name is None:
            with pytest.raises(ApiError) as caught:
                authenticator.authenticate(request)
            assert caught.value.code == 401
        else:
            assert authenticator.authenticate(request).name == name
