"""What others need to check service account tokens by themselves: the issuer's configuration and its public key."""

from typing import Final

from doorman.server.auth.service_account_tokens import ALGORITHM, ISSUER, ServiceAccountTokens
from doorman.server.request import Request, Response, json_response

CONFIGURATION_PATH: Final = "/.well-known/openid-configuration"
KEYS_PATH: Final = "/openid/v1/jwks"


class OpenIdDiscovery:
    def __init__(self, tokens: ServiceAccountTokens) -> None:
        self._keys = json_response({"keys": [tokens.public_jwk]}).body
        self._configuration = json_response(
            {
                "issuer": ISSUER,
                "jwks_uri": f"{ISSUER}{KEYS_PATH}",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": [ALGORITHM],
            }
        ).body

    def answer(self, request: Request) -> Response | None:
        path = request.path.rstrip("/")
        if path == CONFIGURATION_PATH:
            return _public(self._configuration, "application/json")
        if path == KEYS_PATH:
            return _public(self._keys, "application/jwk-set+json")
        return None


def _public(body: bytes, content_type: str) -> Response:
    return Response(body=body, content_type=content_type, cache_control="public, max-age=3600")
