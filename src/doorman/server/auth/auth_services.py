"""What requests need to know about rights, beyond being let in."""

import msgspec

from doorman.server.auth.escalation import EscalationGuard
from doorman.server.auth.openid_discovery import OpenIdDiscovery
from doorman.server.subresources.certificate_requests import CertificateRequests
from doorman.server.subresources.reviews import Reviews
from doorman.server.subresources.token_requests import TokenRequests


class AuthServices(msgspec.Struct, frozen=True, kw_only=True):
    reviews: Reviews
    guard: EscalationGuard
    token_requests: TokenRequests
    certificate_requests: CertificateRequests
    issuer: OpenIdDiscovery
