"""Client certificates beside an oracle: what is trusted here, the verifier of `cryptography` trusts, too.

Chains are drawn with every fault that matters: another root, an authority that is none, a signature by somebody else, a
path that is longer than its authority allows, times that are over, a key that is not for signing, a certificate that is
for servers only. Who wrongly trusts lets somebody in, so that direction holds always; the other one is held where
both have the same rules.
"""

from datetime import UTC, datetime, timedelta
from functools import cache

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import Criticality, ExtensionPolicy, Policy, PolicyBuilder, Store, VerificationError
from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.base.clock import ManualClock
from doorman.server.auth.client_certificates import ClientCertificates, Unverified
from doorman.server.request import PeerCertificates

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One certificate of a chain, with what is wrong with it."""

    is_authority: bool = True
    may_sign: bool = True
    path_length: int | None = None
    begins_in_days: int = -10
    ends_in_days: int = 10
    is_signed_by_another: bool = False
    has_other_issuer: bool = False


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    between: tuple[Link, ...] = ()
    root: Link = Link()
    leaf: Link = Link(is_authority=False)
    usage: str = "client"
    is_root_trusted: bool = True
    shows_between: bool = True


days = st.sampled_from([-20, -5, 5, 20])
links = st.builds(
    Link,
    is_authority=st.sampled_from([True, True, True, False]),
    may_sign=st.sampled_from([True, True, True, False]),
    path_length=st.sampled_from([None, None, 0, 1]),
    begins_in_days=st.sampled_from([-10, -10, -10, 5]),
    ends_in_days=st.sampled_from([10, 10, 10, -5]),
    is_signed_by_another=st.sampled_from([False, False, False, True]),
    has_other_issuer=st.sampled_from([False, False, False, True]),
)
chains = st.builds(
    Chain,
    between=st.lists(links, max_size=2).map(tuple),
    root=st.builds(Link, path_length=st.sampled_from([None, None, 0, 1]), ends_in_days=st.sampled_from([10, 10, -5])),
    leaf=links.map(lambda link: msgspec.structs.replace(link, is_authority=False, may_sign=False)),
    usage=st.sampled_from(["client", "client", "client", "any", "server", "none"]),
    is_root_trusted=st.sampled_from([True, True, True, False]),
    shows_between=st.sampled_from([True, True, True, False]),
)


@cache
def key(number: int) -> ec.EllipticCurvePrivateKey:
    """Making them takes longest, and which they are does not matter."""
    return ec.generate_private_key(ec.SECP256R1())


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def made(link: Link, subject: int, issuer: int, usage: str = "") -> x509.Certificate:
    signer = key(99) if link.is_signed_by_another else key(issuer)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(f"cn-{subject}"))
        .issuer_name(name("elsewhere" if link.has_other_issuer else f"cn-{issuer}"))
        .public_key(key(subject).public_key())
        .serial_number(1000 + subject)
        .not_valid_before(NOW + timedelta(days=min(link.begins_in_days, link.ends_in_days - 1)))
        .not_valid_after(NOW + timedelta(days=link.ends_in_days))
        .add_extension(
            x509.BasicConstraints(ca=link.is_authority, path_length=link.path_length if link.is_authority else None),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key(subject).public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key(issuer).public_key()), critical=False)
    )
    if not usage:
        builder = builder.add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=link.may_sign,
                crl_sign=link.may_sign,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
    purposes = {
        "client": ExtendedKeyUsageOID.CLIENT_AUTH,
        "server": ExtendedKeyUsageOID.SERVER_AUTH,
        "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    }
    if usage in purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage([purposes[usage]]), critical=False)
    return builder.sign(signer, hashes.SHA256())


def certificates(chain: Chain) -> tuple[x509.Certificate, list[x509.Certificate], x509.Certificate]:
    """The root, what is between, and the leaf."""
    root = made(chain.root, 0, 0)
    between = [made(link, number, number - 1) for number, link in enumerate(chain.between, start=1)]
    return root, between, made(chain.leaf, 10, len(between), usage=chain.usage)


def is_trusted_here(chain: Chain) -> bool:
    root, between, leaf = certificates(chain)
    trusted = root if chain.is_root_trusted else made(Link(), 50, 50)
    authorities = trusted.public_bytes(serialization.Encoding.PEM)
    clock = ManualClock(NOW.timestamp())
    shown = [one.public_bytes(serialization.Encoding.DER) for one in between] if chain.shows_between else []
    try:
        ClientCertificates(clock, authorities).whose(
            PeerCertificates.of(leaf.public_bytes(serialization.Encoding.DER), shown)
        )
    except Unverified:
        return False
    return True


def _is_for_clients(_: Policy, __: x509.Certificate, usage: x509.ExtendedKeyUsage | None) -> None:
    wanted = {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    if usage is not None and not wanted & set(usage):
        raise ValueError("for others only")


def is_trusted_by_the_oracle(chain: Chain) -> bool:
    root, between, leaf = certificates(chain)
    trusted = root if chain.is_root_trusted else made(Link(), 50, 50)
    leaf_policy = ExtensionPolicy.permit_all().may_be_present(
        x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _is_for_clients
    )
    verifier = (
        PolicyBuilder()
        .store(Store([trusted]))
        .time(NOW)
        .extension_policies(ca_policy=ExtensionPolicy.webpki_defaults_ca(), ee_policy=leaf_policy)
        .build_client_verifier()
    )
    try:
        verifier.verify(leaf, between if chain.shows_between else [])
    except VerificationError:
        return False
    return True


@settings(max_examples=300, deadline=None)
@given(chain=chains)
def test_whoever_is_trusted_here_is_trusted_by_the_oracle(chain: Chain) -> None:
    if is_trusted_here(chain):
        assert is_trusted_by_the_oracle(chain)


@settings(max_examples=300, deadline=None)
@given(chain=chains)
def test_whoever_the_oracle_trusts_is_trusted_here(chain: Chain) -> None:
    if is_trusted_by_the_oracle(chain) and chain.usage != "none":
        assert is_trusted_here(chain)


def test_plain_chain_is_trusted_by_both() -> None:
    for between in ((), (Link(),), (Link(), Link())):
        chain = Chain(between=between)
        assert is_trusted_here(chain)
        assert is_trusted_by_the_oracle(chain)
