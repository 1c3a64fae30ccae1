"""Who is asking: a client certificate, a bearer token, or nobody in particular."""

import hmac
from collections.abc import Sequence
from typing import Protocol

from doorman.api.identity import ADMIN, ANONYMOUS, User
from doorman.base.errors import unauthorized
from doorman.server.request import Request
from doorman.server.service_account_tokens import ServiceAccountTokens, TokenClaims


class Authenticator(Protocol):
    def authenticate(self, request: Request) -> User:
        """Raises the 401 when credentials are given that are worth nothing."""
        ...


class TokenSource(Protocol):
    def whose(self, token: str) -> TokenClaims | None: ...


class CertificateUsers(Protocol):
    def whose(self, certificate: bytes) -> User | None: ...


class ClusterAuthenticator:
    """The administrator's token of this data directory, service accounts' tokens, bootstrap tokens, certificates."""

    def __init__(
        self,
        admin_token: str,
        accounts: ServiceAccountTokens,
        *,
        others: Sequence[TokenSource] = (),
        certificates: CertificateUsers | None = None,
    ) -> None:
        self._admin_token = admin_token.encode()
        self._accounts = accounts
        self._sources: tuple[TokenSource, ...] = (accounts, *others)
        self._certificates = certificates

    @property
    def audiences(self) -> Sequence[str]:
        return self._accounts.audiences

    def authenticate(self, request: Request) -> User:
        if request.peer_certificate is not None and self._certificates is not None:
            user = self._certificates.whose(request.peer_certificate)
            if user is not None:
                return user
        header = request.headers.get("authorization", "")
        if not header:
            return ANONYMOUS
        scheme, _, token = header.strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return ANONYMOUS  # no credentials that anybody here reads
        found = self.read_token(token.strip())
        if found is None or not any(audience in self.audiences for audience in found.audiences):
            raise unauthorized()
        return found.user

    def read_token(self, token: str) -> TokenClaims | None:
        if hmac.compare_digest(token.encode(), self._admin_token):
            return TokenClaims(user=ADMIN, audiences=tuple(self.audiences))
        for source in self._sources:
            found = source.whose(token)
            if found is not None:
                return found
        return None
