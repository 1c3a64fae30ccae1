"""Client certificates as credentials: the common name is the user, the organizations are his groups.

A connection says only that its client holds the key of the certificate it shows (`tls_handshake.py`). Whether an
authority of this cluster vouches for it is found out here, once for every certificate and what came along with it, and
kept; whether it does so now is looked at on every request, because connections last.
"""

import hashlib
from collections import OrderedDict
from typing import Final

import msgspec
from cryptography import x509
from cryptography.x509.oid import NameOID

from doorman.api.identity import AUTHENTICATED, User
from doorman.base.clock import Clock
from doorman.server.auth.certificate_chains import Window, trusted, windows
from doorman.server.request import PeerCertificates

KNOWN_MAX: Final = 10_000
_CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"
_UID: Final = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
"""Kubernetes' own part of a subject: the user's uid."""


class Unverified(Exception):
    """A certificate is shown, and nobody who is trusted vouches for it now."""


class _Known(msgspec.Struct, frozen=True):
    user: User | None
    windows: tuple[Window, ...]
    """Empty: nobody vouches for it, at no time."""


class ClientCertificates:
    def __init__(self, clock: Clock, authorities: bytes) -> None:
        """`authorities`: PEM."""
        self._clock = clock
        self._roots = trusted(authorities)
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        """By digest of what was shown: a client chooses how long its certificates are, and not what is kept of them."""

    def whose(self, shown: PeerCertificates) -> User | None:
        """None: it is good and names nobody. Raises `Unverified`."""
        known = self._known.get(shown.digest)
        if known is None:
            known = self._authorize(shown)
            self._keep(shown.digest, known)
            if known.windows and shown.others:
                # Whoever takes up this session again shows the certificate alone.
                self._keep(PeerCertificates.of(shown.leaf, None).digest, known)
        now = self._clock.now()
        if not any(window.not_before <= now <= window.not_after for window in known.windows):
            raise Unverified
        return known.user

    def _authorize(self, shown: PeerCertificates) -> _Known:
        found = windows(shown.leaf, shown.others or (), self._roots)
        if not found:
            return _Known(None, ())
        try:
            user = _read(shown.leaf)
        except ValueError:
            return _Known(None, ())
        return _Known(user, found)

    def _keep(self, digest: bytes, known: _Known) -> None:
        self._known[digest] = known
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)


def _read(certificate: bytes) -> User | None:
    subject = x509.load_der_x509_certificate(certificate).subject
    return user_of(subject, credential_id=f"X509SHA256={hashlib.sha256(certificate).hexdigest()}")


def user_of(subject: x509.Name, *, credential_id: str = "") -> User | None:
    """None: it has no name. Raises `ValueError` when it is not clear which uid it has."""
    names = _values(subject, NameOID.COMMON_NAME)
    if not names or not names[-1]:
        return None
    groups = tuple(dict.fromkeys((*_values(subject, NameOID.ORGANIZATION_NAME), AUTHENTICATED)))
    extra = {_CREDENTIAL_ID: (credential_id,)} if credential_id else {}
    return User(name=names[-1], uid=_uid(subject), groups=groups, extra=extra)


def _uid(subject: x509.Name) -> str:
    uids = _values(subject, _UID)
    if not uids:
        return ""
    if len(uids) > 1 or not uids[0]:
        raise ValueError("a certificate has one uid, or none")
    return uids[0]


def _values(subject: x509.Name, oid: x509.ObjectIdentifier) -> list[str]:
    return [str(attribute.value) for attribute in subject.get_attributes_for_oid(oid)]
