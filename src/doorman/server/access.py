"""What requests need to know about rights, beyond being let in."""

import msgspec

from doorman.server.certificate_requests import CertificateRequests
from doorman.server.escalation import EscalationGuard
from doorman.server.issuer import IssuerDiscovery
from doorman.server.reviews import Reviews
from doorman.server.token_requests import TokenRequests


class Access(msgspec.Struct, frozen=True, kw_only=True):
    reviews: Reviews
    guard: EscalationGuard
    token_requests: TokenRequests
    certificate_requests: CertificateRequests
    issuer: IssuerDiscovery
