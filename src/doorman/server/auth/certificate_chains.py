"""From a certificate a client shows to an authority that is trusted: every way there, and when each is good.

What is asked of a path is what Go's verification asks, which Kubernetes uses:

1. The last certificate is a trusted one; each other is signed by the next, with an algorithm that is still sound.
2. Who signs is an authority (basicConstraints), may sign certificates (keyUsage, where it has one) and has no more
   authorities below it than it allows.
3. Nothing in the path restricts its use to something else than authenticating clients: each has no extended key
   usage at all, any, or `clientAuth`.
4. No certificate has a critical extension that is not understood here.
5. The path is good while all of its certificates are.

Authorities limited to certain names are refused: nothing here compares names with such limits, and a limit that is
not looked at is none. What a client sends is hostile until the contrary is shown; work for one of them is bounded.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

from doorman.base.clock import Instant

_T = TypeVar("_T", bound=x509.ExtensionType)

SIGNATURE_CHECKS_MAX: Final = 100
RSA_BITS_MIN: Final = 1024
_HASHES: Final = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
_USABLE: Final = frozenset((ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE))
_UNDERSTOOD: Final = frozenset(
    (
        ExtensionOID.AUTHORITY_INFORMATION_ACCESS,
        ExtensionOID.AUTHORITY_KEY_IDENTIFIER,
        ExtensionOID.BASIC_CONSTRAINTS,
        ExtensionOID.CERTIFICATE_POLICIES,
        ExtensionOID.CRL_DISTRIBUTION_POINTS,
        ExtensionOID.EXTENDED_KEY_USAGE,
        ExtensionOID.KEY_USAGE,
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
        ExtensionOID.SUBJECT_KEY_IDENTIFIER,
    )
)


class Window(msgspec.Struct, frozen=True):
    """Both ends belong to it."""

    not_before: Instant
    not_after: Instant


class _Member(msgspec.Struct, frozen=True):
    """A certificate that may be part of a path, read once."""

    certificate: x509.Certificate
    window: Window
    below_max: int | None
    """Authorities it allows below itself; None: any number."""
    is_authority: bool


def trusted(pem: bytes) -> tuple[x509.Certificate, ...]:
    return tuple(x509.load_pem_x509_certificates(pem))


def windows(leaf: bytes, others: Sequence[bytes], roots: Sequence[x509.Certificate]) -> tuple[Window, ...]:
    """When `leaf` is to be believed, given what came along with it. Empty: never. All certificates are DER."""
    first = _read(leaf)
    if first is None:
        return ()
    found = [first.window] if first.certificate in roots else []
    between = [member for each in others if (member := _read(each)) is not None and member.is_authority]
    anchors = [member for root in roots if (member := _member(root)) is not None and member.is_authority]
    search = _Search(anchors, between)
    found.extend(search.ways_up((first,), first.window))
    return tuple(dict.fromkeys(found))


class _Search:
    def __init__(self, anchors: Sequence[_Member], between: Sequence[_Member]) -> None:
        self._anchors = anchors
        self._between = between
        self._checks_left = SIGNATURE_CHECKS_MAX

    def ways_up(self, path: tuple[_Member, ...], window: Window) -> Iterator[Window]:
        for is_anchor, candidates in ((True, self._anchors), (False, self._between)):
            for candidate in candidates:
                if candidate in path or not self._signed(path, candidate):
                    continue
                both = _overlap(window, candidate.window)
                if both is None:
                    continue
                if is_anchor:
                    yield both
                else:
                    yield from self.ways_up((*path, candidate), both)

    def _signed(self, path: tuple[_Member, ...], candidate: _Member) -> bool:
        """Whether the last of a path is signed by a candidate that may stand above it."""
        certificate = path[-1].certificate
        if candidate.below_max is not None and len(path) - 1 > candidate.below_max:
            return False
        if certificate.issuer != candidate.certificate.subject or self._checks_left <= 0:
            return False
        self._checks_left -= 1
        try:
            certificate.verify_directly_issued_by(candidate.certificate)
        except Exception:  # noqa: BLE001  whatever a hostile certificate makes it say, it is not yes
            return False
        return True


def _read(der: bytes) -> _Member | None:
    try:
        return _member(x509.load_der_x509_certificate(der))
    except Exception:  # noqa: BLE001  bytes of a stranger: whatever is wrong with them, they vouch for nothing
        return None


def _member(certificate: x509.Certificate) -> _Member | None:
    """None: it can be part of no path."""
    extensions = certificate.extensions
    if any(each.critical and each.oid not in _UNDERSTOOD for each in extensions):
        return None
    usages = _value(extensions, x509.ExtendedKeyUsage)
    if usages is not None and _USABLE.isdisjoint(usages):
        return None
    if not _is_sound(certificate):
        return None
    constraints = _value(extensions, x509.BasicConstraints)
    key_usage = _value(extensions, x509.KeyUsage)
    return _Member(
        certificate,
        Window(certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp()),
        None if constraints is None else constraints.path_length,
        constraints is not None
        and constraints.ca
        and (key_usage is None or key_usage.key_cert_sign)
        and _value(extensions, x509.NameConstraints) is None,
    )


def _is_sound(certificate: x509.Certificate) -> bool:
    """Keys and signatures that Go's library still takes."""
    key = certificate.public_key()
    if isinstance(key, ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey):
        is_strong = True
    else:
        is_strong = isinstance(key, rsa.RSAPublicKey) and key.key_size >= RSA_BITS_MIN
    algorithm = certificate.signature_hash_algorithm
    return is_strong and (algorithm is None or isinstance(algorithm, _HASHES))  # none: Ed25519 has its own


def _value(extensions: x509.Extensions, kind: type[_T]) -> _T | None:
    return next((each.value for each in extensions if isinstance(each.value, kind)), None)


def _overlap(first: Window, second: Window) -> Window | None:
    not_before = max(first.not_before, second.not_before)
    not_after = min(first.not_after, second.not_after)
    return Window(not_before, not_after) if not_before <= not_after else None
