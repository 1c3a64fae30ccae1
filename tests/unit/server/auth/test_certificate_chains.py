"""Whose certificates are believed, and when."""

from collections.abc import Sequence
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from doorman.server.auth import certificate_chains as certificate_paths
from doorman.server.auth.certificate_chains import Window, trusted, windows
from support.certificates import FOR_CLIENTS, FOR_SERVERS, Holder, authority, subject_of

NOW = 1_800_000_000.0
HOUR = 3600.0
ROOT = authority(now=NOW)
CA = x509.BasicConstraints(ca=True, path_length=None)
LAST_CA = x509.BasicConstraints(ca=True, path_length=0)
NO_CA = x509.BasicConstraints(ca=False, path_length=None)
ANY_USE = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE])
STRANGE = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")
LIMITED = x509.NameConstraints(permitted_subtrees=[x509.DNSName("example.com")], excluded_subtrees=None)
NAMES = x509.SubjectAlternativeName([x509.DNSName("jane.example.com")])


def usage(*, signs: bool) -> x509.KeyUsage:
    names = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign")
    others = dict.fromkeys((*names, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(digital_signature=True, key_cert_sign=signs, **others)


def found(leaf: Holder | bytes, *others: Holder, roots: Sequence[Holder] = (ROOT,)) -> tuple[Window, ...]:
    der = leaf if isinstance(leaf, bytes) else leaf.der
    every = trusted(b"".join(root.pem for root in roots))
    return windows(der, [other.der for other in others], every)


def below(*extensions: x509.ExtensionType, **options: Any) -> Holder:
    """A certificate of an authority below ours."""
    return ROOT.signs("between", now=NOW, extensions=extensions, **options)


@pytest.mark.parametrize(
    ("extensions", "critical", "is_believed"),
    [
        pytest.param((FOR_CLIENTS,), False, True, id="rule-3-for-clients"),
        pytest.param((FOR_CLIENTS,), True, True, id="rule-3-for-clients-critical"),
        pytest.param((), False, True, id="rule-3-no-usage-named"),
        pytest.param((ANY_USE,), False, True, id="rule-3-any-usage"),
        pytest.param((FOR_SERVERS,), False, False, id="rule-3-for-servers-only"),
        pytest.param((NO_CA, usage(signs=False), FOR_CLIENTS, NAMES), True, True, id="rule-4-all-understood"),
        pytest.param((STRANGE,), False, True, id="rule-4-strange-and-not-critical"),
        pytest.param((STRANGE,), True, False, id="rule-4-strange-and-critical"),
        pytest.param((CA, FOR_CLIENTS), False, True, id="rule-1-an-authority-is-a-client-too"),
    ],
)
def test_certificate_of_the_root(extensions: tuple[x509.ExtensionType, ...], critical: bool, is_believed: bool) -> None:
    leaf = ROOT.signs("jane", now=NOW, extensions=extensions, critical=critical)
    assert found(leaf) == ((Window(NOW - HOUR, NOW + HOUR),) if is_believed else ())


def test_rule_1_the_root_itself() -> None:
    assert found(ROOT) == (Window(NOW - HOUR, NOW + 24 * HOUR),)


def test_rule_1_others_of_the_same_name_do_not_count() -> None:
    other = authority("doorman-ca", now=NOW)
    assert found(other) == (), "a root nobody trusts"
    assert found(other.signs("jane", now=NOW)) == ()
    assert found(other.signs("jane", now=NOW), other) == (), "sending one's authority along does not make it trusted"
    assert found(other.signs("jane", now=NOW), other, ROOT) == ()


def test_rule_1_changed_bytes() -> None:
    der = ROOT.signs("jane", now=NOW).der
    assert found(der) != ()
    for place in (-1, -10, -40):
        changed = bytearray(der)
        changed[place] ^= 1
        assert found(bytes(changed)) == ()
    assert found(der.replace(b"jane", b"root")) == (), "another name under the same signature"


@pytest.mark.parametrize(
    ("between", "is_believed"),
    [
        pytest.param(below(CA), True, id="rule-2-authority"),
        pytest.param(below(CA, usage(signs=True)), True, id="rule-2-may-sign"),
        pytest.param(below(CA, usage(signs=False)), False, id="rule-2-may-not-sign"),
        pytest.param(below(LAST_CA), True, id="rule-2-nothing-below-but-leaves"),
        pytest.param(below(NO_CA), False, id="rule-2-no-authority"),
        pytest.param(below(FOR_CLIENTS), False, id="rule-2-a-client"),
        pytest.param(below(CA, FOR_CLIENTS), True, id="rule-3-for-clients"),
        pytest.param(below(CA, FOR_SERVERS), False, id="rule-3-for-servers"),
        pytest.param(below(CA, STRANGE, critical=True), False, id="rule-4-strange"),
        pytest.param(below(CA, LIMITED, critical=True), False, id="limited-to-names"),
        pytest.param(below(CA, LIMITED), False, id="limited-to-names-not-critical"),
    ],
)
def test_authority_in_between(between: Holder, is_believed: bool) -> None:
    leaf = between.signs("jane", now=NOW)
    assert (found(leaf, between) != ()) is is_believed
    assert found(leaf) == (), "who vouches for it has to be shown"


def test_rule_2_no_more_authorities_below_than_allowed() -> None:
    first = below(LAST_CA)
    second = first.signs("second", now=NOW, extensions=(CA,))
    assert found(first.signs("jane", now=NOW), first) != ()
    assert found(second.signs("jane", now=NOW), second, first) == ()
    strict = authority("strict", now=NOW, path_length=0)
    under = strict.signs("under", now=NOW, extensions=(CA,))
    assert found(under.signs("jane", now=NOW), under, roots=[strict]) == ()
    assert found(strict.signs("jane", now=NOW), roots=[strict]) != ()


def test_rule_5_good_while_all_are() -> None:
    between = below(CA, hours=(0.5, 0.75))
    assert found(between.signs("jane", now=NOW), between) == (Window(NOW + HOUR / 2, NOW + 0.75 * HOUR),)
    gone = below(CA, hours=(-3, -2))
    assert found(gone.signs("jane", now=NOW), gone) == (), "never at the same time"


def test_two_ways_are_both_taken() -> None:
    """The same authority certified twice: what one does not cover, the other may."""
    early, late = below(CA, hours=(-1, 0)), below(CA, hours=(0.5, 1))
    again = Holder(
        x509.CertificateBuilder(
            issuer_name=ROOT.certificate.subject,
            subject_name=early.certificate.subject,
            public_key=early.key.public_key(),
            serial_number=9,
            not_valid_before=late.certificate.not_valid_before_utc,
            not_valid_after=late.certificate.not_valid_after_utc,
            extensions=[x509.Extension(CA.oid, True, CA)],
        ).sign(ROOT.key, hashes.SHA256()),
        early.key,
    )
    assert found(early.signs("jane", now=NOW), early, again) == (
        Window(NOW - HOUR, NOW),
        Window(NOW + HOUR / 2, NOW + HOUR),
    )


def test_order_and_company_do_not_matter() -> None:
    first = below(CA)
    second = first.signs("second", now=NOW, extensions=(CA,))
    leaf = second.signs("jane", now=NOW)
    stranger = authority("stranger", now=NOW)
    assert found(leaf, first, stranger, second) == found(leaf, second, first, ROOT) != ()
    assert windows(leaf.der, [b"garbage", second.der, b"", first.der], trusted(ROOT.pem)) != ()


@pytest.mark.parametrize("leaf", [b"", b"garbage", b"\x30\x03\x02\x01\x01", ROOT.der[:-5], ROOT.der + b"x"])
def test_what_is_no_certificate(leaf: bytes) -> None:
    assert found(leaf) == ()


def test_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many authorities of one name and key: every path among them is a possibility."""
    monkeypatch.setattr(certificate_paths, "SIGNATURE_CHECKS_MAX", 20)
    fake = authority("fake", now=NOW)
    many = [fake, *(authority("fake", now=NOW) for _ in range(200))]
    assert found(fake.signs("jane", now=NOW), *many) == ()
    between = below(CA)
    crowd = [authority("between", now=NOW) for _ in range(30)]
    assert found(between.signs("jane", now=NOW), *crowd, between) == (), "given up: too many to try"
    assert found(between.signs("jane", now=NOW), between, *crowd) != ()


@pytest.mark.parametrize(
    ("key", "algorithm", "is_believed"),
    [
        pytest.param(ed25519.Ed25519PrivateKey.generate(), hashes.SHA256(), True, id="ed25519"),
        pytest.param(rsa.generate_private_key(65537, 1024), hashes.SHA512(), True, id="rsa-1024"),
        pytest.param(ed25519.Ed25519PrivateKey.generate(), hashes.SHA224(), False, id="weak-hash"),
        pytest.param(dsa.generate_private_key(1024), hashes.SHA256(), False, id="dsa"),
    ],
)
def test_sound_keys_and_signatures(key: Any, algorithm: Any, is_believed: bool) -> None:
    leaf = (
        x509.CertificateBuilder()
        .subject_name(subject_of("jane"))
        .issuer_name(ROOT.certificate.subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(ROOT.certificate.not_valid_before_utc)
        .not_valid_after(ROOT.certificate.not_valid_after_utc)
        .sign(ROOT.key, algorithm)
    )
    assert (found(leaf.public_bytes(serialization.Encoding.DER)) != ()) is is_believed
