"""Keys and certificate requests for tests."""

import base64
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from doorman.base.clock import Instant

CLIENT_USAGES = ["digital signature", "key encipherment", "client auth"]
SERVER_USAGES = ["digital signature", "key encipherment", "server auth"]


Key = ec.EllipticCurvePrivateKey
FOR_CLIENTS = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
FOR_SERVERS = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])


class Holder:
    """Somebody with a key and a certificate, who signs others whether he may or not."""

    def __init__(self, certificate: x509.Certificate, key: Key) -> None:
        self.certificate = certificate
        self.key = key

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def signs(
        self,
        name: str,
        *organizations: str,
        now: Instant,
        hours: tuple[float, float] = (-1, 1),
        extensions: Iterable[x509.ExtensionType] = (FOR_CLIENTS,),
        critical: bool = False,
    ) -> "Holder":
        """A certificate with an hour behind it and one before it, or other `hours`."""
        key = made_key()
        return Holder(_signed(subject_of(name, *organizations), key, self, now, hours, extensions, critical), key)


def subject_of(name: str, *organizations: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else attributes)


def authority(name: str = "doorman-ca", *, now: Instant, path_length: int | None = None) -> Holder:
    """A root of its own."""
    key = made_key()
    limits = x509.BasicConstraints(ca=True, path_length=path_length)
    return Holder(_signed(subject_of(name), key, None, now, (-1, 24), (limits,), True), key)


def _signed(
    subject: x509.Name,
    key: Key,
    signer: Holder | None,
    now: Instant,
    hours: tuple[float, float],
    extensions: Iterable[x509.ExtensionType],
    critical: bool,
) -> x509.Certificate:
    instant = datetime.fromtimestamp(now, UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if signer is None else signer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(instant + timedelta(hours=hours[0]))
        .not_valid_after(instant + timedelta(hours=hours[1]))
    )
    for each in extensions:
        builder = builder.add_extension(each, critical=critical)
    return builder.sign(key if signer is None else signer.key, hashes.SHA256())


def made_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def made_request(
    name: str,
    *organizations: str,
    key: ec.EllipticCurvePrivateKey | None = None,
    dns: Sequence[str] = (),
    addresses: Sequence[str] = (),
    emails: Sequence[str] = (),
    uris: Sequence[str] = (),
) -> x509.CertificateSigningRequest:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
    if name:
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
    names: list[x509.GeneralName] = [
        *(x509.DNSName(one) for one in dns),
        *(x509.IPAddress(ip_address(one)) for one in addresses),
        *(x509.RFC822Name(one) for one in emails),
        *(x509.UniformResourceIdentifier(one) for one in uris),
    ]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(attributes))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key or made_key(), hashes.SHA256())


def request_body(
    name: str, request: x509.CertificateSigningRequest, signer: str, usages: Sequence[str]
) -> dict[str, Any]:
    """A CertificateSigningRequest."""
    pem = request.public_bytes(serialization.Encoding.PEM)
    return {
        "metadata": {"name": name},
        "spec": {"request": base64.b64encode(pem).decode(), "signerName": signer, "usages": list(usages)},
    }
