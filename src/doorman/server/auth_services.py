"""What requests need to know about rights, beyond being let in."""

from typing import Final

import msgspec

from doorman.api.identity import User
from doorman.api.kinds import Kind
from doorman.api.well_known import CERTIFICATE_SIGNING_REQUESTS, RBAC_GROUP
from doorman.base.json_types import Document
from doorman.server.auth.escalation import EscalationGuard
from doorman.server.auth.openid_discovery import OpenIdDiscovery
from doorman.server.subresources.certificate_requests import CertificateRequests
from doorman.server.subresources.reviews import GROUPS, Reviews
from doorman.server.subresources.token_requests import TokenRequests

ACCESS_GROUPS: Final = frozenset({RBAC_GROUP, CERTIFICATE_SIGNING_REQUESTS.partition(".")[2], *GROUPS})
"""Groups whose kinds are about rights; to a new object of any other these services have nothing to say."""


class AuthServices(msgspec.Struct, frozen=True, kw_only=True):
    reviews: Reviews
    guard: EscalationGuard
    token_requests: TokenRequests
    certificate_requests: CertificateRequests
    issuer: OpenIdDiscovery

    def prepare(self, kind: Kind, namespace: str, doc: Document, user: User) -> None:
        """A new object that gives rights away, or asks for a certificate. Raises when the user may not."""
        if self.guard.is_about(kind):
            self.guard.check(kind, namespace, doc, None, user)
        self.certificate_requests.prepare(kind, doc, user)
