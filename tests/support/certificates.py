"""Keys and certificate requests for tests."""

import base64
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CLIENT_USAGES = ["digital signature", "key encipherment", "client auth"]
SERVER_USAGES = ["digital signature", "key encipherment", "server auth"]


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
