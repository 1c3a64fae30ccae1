"""Who is asking: a client certificate, a bearer token, or nobody in particular."""

import hmac
from collections.abc import Sequence
from typing import Protocol

from doorman.api.identity import ADMIN, ANONYMOUS, User
from doorman.base.errors import unauthorized
from doorman.server.auth.client_certificates import Unverified
from doorman.server.auth.service_account_tokens import ServiceAccountTokens, TokenClaims
from doorman.server.request import PeerCertificates, Request


class Authenticator(Protocol):
    def authenticate(self, request: Request) -> User:
        """Raises the 401 when credentials are given that are worth nothing."""
        ...


class TokenSource(Protocol):
    def whose(self, token: str) -> TokenClaims | None: ...


class CertificateUsers(Protocol):
    def whose(self, shown: PeerCertificates) -> User | None:
        """Raises `Unverified`. None: a certificate of ours that names nobody."""
        ...


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
        self._admin = TokenClaims(user=ADMIN, audiences=tuple(accounts.audiences))
        self._audiences = frozenset(accounts.audiences)
        self._accounts = accounts
        self._sources: tuple[TokenSource, ...] = (accounts, *others)
        self._certificates = certificates

    @property
    def audiences(self) -> Sequence[str]:
        return self._accounts.audiences

    def authenticate(self, request: Request) -> User:
        """The first credential that is worth something counts. One that is not, and no other, is a 401 everywhere:
        who shows a wrong certificate or token is not taken for nobody.
        """
        is_refused = False
        if request.peer_certificates is not None and self._certificates is not None:
            try:
                user = self._certificates.whose(request.peer_certificates)
            except Unverified:
                is_refused = True
            else:
                if user is not None:
                    return user
        if token := _bearer(request.headers.get("authorization", "")):
            found = self.read_token(token)
            if found is not None and not self._audiences.isdisjoint(found.audiences):
                return found.user
            is_refused = True
        if is_refused:
            raise unauthorized()
        return ANONYMOUS

    def read_token(self, token: str) -> TokenClaims | None:
        if hmac.compare_digest(token.encode(), self._admin_token):
            return self._admin
        for source in self._sources:
            found = source.whose(token)
            if found is not None:
                return found
        return None


def _bearer(header: str) -> str:
    """The word after the scheme, one space behind it. Empty: nothing anybody here reads."""
    scheme, _, rest = header.strip().partition(" ")
    return rest.partition(" ")[0] if scheme.lower() == "bearer" else ""
