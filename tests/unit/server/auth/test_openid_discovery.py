"""Others can check our tokens with what the issuer publishes."""

import jwt

from doorman.server.auth.service_account_tokens import ISSUER
from support.api import running_api


async def test_published_key_checks_a_token() -> None:
    async with running_api() as api:
        await api.given_account("robot")
        token = await api.given_token("robot")
        status, configuration = await api.call("GET", "/.well-known/openid-configuration", token=token)
        assert status == 200
        assert configuration["issuer"] == ISSUER
        status, keys = await api.call("GET", "/openid/v1/jwks", token=token)
        assert status == 200
        key = jwt.PyJWK(keys["keys"][0])
        claims = jwt.decode(
            token, key, audience=ISSUER, options={"verify_exp": False, "verify_iat": False, "verify_nbf": False}
        )
        assert claims["sub"] == "system:serviceaccount:default:robot"
        assert keys["keys"][0]["kid"] == jwt.get_unverified_header(token)["kid"]
        assert "d" not in keys["keys"][0], "the private part stays private"


async def test_issuer_is_for_service_accounts() -> None:
    async with running_api() as api:
        assert (await api.call("GET", "/openid/v1/jwks", user="jane"))[0] == 403
