"""Keys, certificates and the administrator's token: made once a data directory, never printed."""

import contextlib
import ipaddress
import secrets
import socket
import stat
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from doorman.semantics.service_ranges import API_SERVICE_ADDRESS
from doorman.store.data_directory import PRIVATE_FILE, PRIVATE_FOLDER, write_private
from doorman.store.store_contract import Unusable

VALID_YEARS: Final = 10
_NAMES: Final = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    ca_certificate: bytes
    ca_key: bytes
    server_certificate: bytes
    server_key: bytes
    service_account_key: bytes
    """Signs service account tokens."""
    admin_token: str


_FILES: Final = {
    "ca_certificate": "ca.crt",
    "ca_key": "ca.key",
    "server_certificate": "server.crt",
    "server_key": "server.key",
    "service_account_key": "sa.key",
}


def load_or_make(
    directory: Path | None, bind_address: str, now: datetime, *, more_names: Sequence[str] = ()
) -> Credentials:
    """From the directory's `pki` folder, made there when missing; without a directory, for this process only.

    The server's certificate is for the address it listens on, for the host's own names and addresses when that is all
    of them, and for `more_names`.
    """
    names = (*(own_names() if _is_everywhere(bind_address) else (bind_address,)), *more_names)
    if directory is None:
        return _make(names, now)
    folder = directory / "pki"
    token_file = folder / "admin.token"
    if token_file.exists():
        credentials = _load(folder, token_file)
        if _covers(credentials.server_certificate, names):
            return credentials
        renewed = _with_server_certificate(credentials, names, now)
        write_private(folder / "server.crt", renewed.server_certificate)
        write_private(folder / "server.key", renewed.server_key)
        return renewed
    made = _make(names, now)
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    folder.chmod(PRIVATE_FOLDER)
    for field, name in _FILES.items():
        write_private(folder / name, getattr(made, field))
    # The token is written last: a directory without it is made anew.
    write_private(token_file, made.admin_token.encode())
    return made


def certificates_of(directory: Path) -> dict[str, x509.Certificate]:
    """The certificates a server has made for itself there, by file. Raises `Unusable`."""
    credentials = _known(directory)
    folder = directory / "pki"
    return {
        _FILES[field]: _certificate_of(folder / _FILES[field], getattr(credentials, field))
        for field in ("ca_certificate", "server_certificate")
    }


def renew_server_certificate(directory: Path, now: datetime) -> None:
    """A new one for the names that the old one is for, of the same authority. Raises `Unusable`."""
    credentials = _known(directory)
    old = certificates_of(directory)[_FILES["server_certificate"]]
    known = old.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    names = [*known.get_values_for_type(x509.DNSName), *map(str, known.get_values_for_type(x509.IPAddress))]
    renewed = _with_server_certificate(credentials, names, now)
    write_private(directory / "pki" / "server.crt", renewed.server_certificate)
    write_private(directory / "pki" / "server.key", renewed.server_key)


def _known(directory: Path) -> Credentials:
    token_file = directory / "pki" / "admin.token"
    if not token_file.exists():
        raise Unusable(f"{directory} holds no keys", "give the server's directory with --data-dir")
    return _load(directory / "pki", token_file)


def _load(folder: Path, token_file: Path) -> Credentials:
    """Raises `Unusable` that names the file that is damaged."""
    with contextlib.suppress(OSError):
        folder.chmod(PRIVATE_FOLDER)
    found = {field: _read(folder / name) for field, name in _FILES.items()}
    token = _read(token_file).decode("ascii", errors="replace").strip()
    if not token or not token.isprintable() or "\N{REPLACEMENT CHARACTER}" in token:
        raise _damaged(token_file, "it holds no token")
    credentials = Credentials(admin_token=token, **found)
    for certificate, key in (("ca_certificate", "ca_key"), ("server_certificate", "server_key")):
        public = _key_of(folder / _FILES[key], found[key]).public_key()
        if _certificate_of(folder / _FILES[certificate], found[certificate]).public_key() != public:
            raise _damaged(folder / _FILES[key], f"it is not the key of {_FILES[certificate]}")
    _key_of(folder / _FILES["service_account_key"], credentials.service_account_key)
    return credentials


def _read(file: Path) -> bytes:
    try:
        content = file.read_bytes()
        if stat.S_IMODE(file.stat().st_mode) != PRIVATE_FILE:
            file.chmod(PRIVATE_FILE)
    except OSError as error:
        raise _damaged(file, f"it cannot be read: {error.strerror}") from error
    return content


def _key_of(file: Path, content: bytes) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(content, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _damaged(file, "it holds no private key") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise _damaged(file, "it holds no key of an elliptic curve")
    return key


def _certificate_of(file: Path, content: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(content)
    except ValueError as error:
        raise _damaged(file, "it holds no certificate") from error


def _damaged(file: Path, why: str) -> Unusable:
    return Unusable(
        f"{file} is damaged: {why}",
        f"restore it from a backup, or remove {file.parent} to have new keys made (clients need the new kubeconfig)",
    )


def _make(names: Sequence[str], now: datetime) -> Credentials:
    ca_key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "doorman-ca")])
    ca = (
        _builder(name, name, ca_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=True,
                crl_sign=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    bare = Credentials(
        ca_certificate=ca.public_bytes(serialization.Encoding.PEM),
        ca_key=_pem(ca_key),
        server_certificate=b"",
        server_key=b"",
        service_account_key=_pem(ec.generate_private_key(ec.SECP256R1())),
        admin_token=secrets.token_urlsafe(32),
    )
    return _with_server_certificate(bare, names, now)


def _with_server_certificate(credentials: Credentials, names: Sequence[str], now: datetime) -> Credentials:
    ca = x509.load_pem_x509_certificate(credentials.ca_certificate)
    ca_key = serialization.load_pem_private_key(credentials.ca_key, None)
    assert isinstance(ca_key, ec.EllipticCurvePrivateKey), "the CA key is ours"
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "doorman")])
    addresses, domains = _sorted_out(names)
    addresses = list(dict.fromkeys(("127.0.0.1", "::1", API_SERVICE_ADDRESS, *addresses)))
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in dict.fromkeys((*_NAMES, *domains))]
    alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    certificate = (
        _builder(subject, ca.subject, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    return msgspec.structs.replace(
        credentials, server_certificate=certificate.public_bytes(serialization.Encoding.PEM), server_key=_pem(key)
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=365 * VALID_YEARS))
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def own_names() -> tuple[str, ...]:
    """The host's names and addresses, as far as it knows them."""
    host = socket.gethostname()
    found = dict.fromkeys((host, socket.getfqdn()))
    with contextlib.suppress(OSError):
        for _, _, _, _, where in socket.getaddrinfo(host, None):
            found[str(where[0]).partition("%")[0]] = None
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        # Nothing is sent: the system only chooses the address it would send from.
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as choosing:
            choosing.connect((elsewhere, 9))
            found[choosing.getsockname()[0]] = None
    return tuple(name for name in found if name)


def _is_everywhere(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False


def _sorted_out(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Addresses, and names.

    >>> _sorted_out(["::1", "host.example.com"])
    (['::1'], ['host.example.com'])
    """
    addresses: list[str] = []
    domains: list[str] = []
    for name in names:
        try:
            addresses.append(str(ipaddress.ip_address(name)))
        except ValueError:
            domains.append(name)
    return addresses, domains


def _covers(certificate: bytes, names: Sequence[str]) -> bool:
    addresses, domains = _sorted_out(names)
    parsed = x509.load_pem_x509_certificate(certificate)
    known = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    has_addresses = set(addresses) <= {str(address) for address in known.get_values_for_type(x509.IPAddress)}
    return has_addresses and set(domains) <= set(known.get_values_for_type(x509.DNSName))
