"""Client certificates as credentials: the common name is the user, the organizations are his groups.

That a certificate is signed by this cluster's authority was checked when the connection was made; how long it is
valid is looked at again on every request, because connections last.
"""

import hashlib
from collections import OrderedDict
from typing import Final

import msgspec
from cryptography import x509
from cryptography.x509.oid import NameOID

from doorman.api.identity import AUTHENTICATED, User
from doorman.base.clock import Clock, Instant

KNOWN_MAX: Final = 10_000
_CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"


class _Known(msgspec.Struct, frozen=True):
    user: User | None
    not_before: Instant
    not_after: Instant


class ClientCertificates:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[bytes, _Known] = OrderedDict()

    def whose(self, certificate: bytes) -> User | None:
        """By the DER bytes of a verified certificate. None: it names nobody, or its time is over."""
        known = self._known.get(certificate)
        if known is None:
            known = self._known[certificate] = _read(certificate)
            if len(self._known) > KNOWN_MAX:
                self._known.popitem(last=False)
        if not known.not_before <= self._clock.now() <= known.not_after:
            return None
        return known.user


def _read(certificate: bytes) -> _Known:
    parsed = x509.load_der_x509_certificate(certificate)
    return _Known(
        user_of(parsed.subject, credential_id=f"X509SHA256={hashlib.sha256(certificate).hexdigest()}"),
        parsed.not_valid_before_utc.timestamp(),
        parsed.not_valid_after_utc.timestamp(),
    )


def user_of(subject: x509.Name, *, credential_id: str = "") -> User | None:
    names = _values(subject, NameOID.COMMON_NAME)
    if not names or not names[-1]:
        return None
    groups = tuple(dict.fromkeys((*_values(subject, NameOID.ORGANIZATION_NAME), AUTHENTICATED)))
    extra = {_CREDENTIAL_ID: (credential_id,)} if credential_id else {}
    return User(name=names[-1], groups=groups, extra=extra)


def _values(subject: x509.Name, oid: x509.ObjectIdentifier) -> list[str]:
    return [str(attribute.value) for attribute in subject.get_attributes_for_oid(oid)]
