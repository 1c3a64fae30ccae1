"""The certificate of a component's own port, when none is given: for this process only, signed by itself."""

import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from doorman.attached.component_settings import ServingSettings
from doorman.base.clock import Instant


def serving_context(settings: ServingSettings, now: Instant) -> ssl.SSLContext:
    """Raises OSError or ValueError when the files that are named cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if settings.tls_cert_file is not None:
        context.load_cert_chain(settings.tls_cert_file, settings.tls_private_key_file)
    else:
        with tempfile.NamedTemporaryFile() as file:
            Path(file.name).write_bytes(_self_signed(now))
            context.load_cert_chain(file.name)
    if settings.client_ca_file is not None:
        context.load_verify_locations(settings.client_ca_file)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _self_signed(now: Instant) -> bytes:
    """Key and certificate, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    at = datetime.fromtimestamp(now, UTC)
    names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - timedelta(hours=1))
        .not_valid_after(at + timedelta(days=365))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return pem + certificate.public_bytes(serialization.Encoding.PEM)
