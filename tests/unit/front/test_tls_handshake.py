"""Handshakes that take any certificate, in memory."""

import ctypes
import logging
import ssl
from pathlib import Path
from typing import Any

import pytest

from doorman.front import tls_handshake as handshake
from doorman.front.tls_handshake import leave_verification_to_requests, shown_by
from support.certificates import FOR_SERVERS, Holder, authority, key_pem

NOW = 1_800_000_000.0
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


def written(folder: Path, holder: Holder, *others: Holder) -> Path:
    file = folder / f"{holder.certificate.serial_number}.pem"
    file.write_bytes(b"".join(one.pem for one in (holder, *others)) + key_pem(holder.key))
    return file


def contexts(folder: Path, client: Holder | None, *others: Holder) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    root = authority(now=NOW)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(written(folder, root.signs("server", now=NOW, extensions=(FOR_SERVERS,))))
    serving.load_verify_locations(cadata=root.pem.decode())
    serving.verify_mode = ssl.CERT_OPTIONAL
    asking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    asking.check_hostname = False
    asking.verify_mode = ssl.CERT_NONE
    if client is not None:
        asking.load_cert_chain(written(folder, client, *others))
    return serving, asking


def connected(
    serving: ssl.SSLContext, asking: ssl.SSLContext, session: ssl.SSLSession | None = None
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Both ends after a handshake and a byte in each direction, which brings the tickets of TLS 1.3."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(to_server, to_client, server_side=True)
    client = asking.wrap_bio(to_client, to_server, session=session)
    left = [client, server]
    while left:
        for end in list(left):
            try:
                end.do_handshake()
                left.remove(end)
            except ssl.SSLWantReadError:
                pass
    server.write(b"x")
    client.read(1)
    return server, client


@pytest.mark.parametrize("version", VERSIONS)
def test_any_certificate_is_taken_and_shown(tmp_path: Path, version: ssl.TLSVersion) -> None:
    between = authority("foreign", now=NOW)
    foreign = between.signs("jane", now=NOW)
    serving, asking = contexts(tmp_path, foreign, between)
    asking.minimum_version = asking.maximum_version = version
    assert leave_verification_to_requests(serving)
    server, _ = connected(serving, asking)
    assert shown_by(server) == ([foreign.der, between.der], False)


def test_no_certificate_is_needed(tmp_path: Path) -> None:
    serving, asking = contexts(tmp_path, None)
    assert leave_verification_to_requests(serving)
    assert shown_by(connected(serving, asking)[0]) == ([], False)


@pytest.mark.parametrize("version", VERSIONS)
def test_session_taken_up_again_shows_the_certificate_it_was_made_with(tmp_path: Path, version: ssl.TLSVersion) -> None:
    jane = authority("foreign", now=NOW).signs("jane", now=NOW)
    serving, asking = contexts(tmp_path, jane)
    asking.minimum_version = asking.maximum_version = version
    assert leave_verification_to_requests(serving)
    _, client = connected(serving, asking)
    server, again = connected(serving, asking, client.session)
    assert again.session_reused
    shown, _ = shown_by(server)
    assert shown == [jane.der]


def test_the_holder_of_another_key_is_not_connected(tmp_path: Path) -> None:
    """A certificate is public: only its key makes it somebody's."""
    root = authority("foreign", now=NOW)
    jane = root.signs("jane", now=NOW)
    thief = Holder(jane.certificate, root.signs("thief", now=NOW).key)
    with pytest.raises(ssl.SSLError, match="KEY_VALUES_MISMATCH"):
        contexts(tmp_path, thief)


def without_symbol(_: Any) -> Any:
    return ctypes.CDLL(None).a_symbol_that_is_not_there


def no_library(_: Any) -> Any:
    raise OSError("no such library")


class Liar:
    """A library whose answers do not fit what Python says."""

    def __getattr__(self, name: str) -> Any:
        assert not name.startswith("SSL_CTX_set"), "nothing is written to an address that is not proved"
        return lambda *_: 0


@pytest.mark.parametrize(
    "library",
    [
        pytest.param(without_symbol, id="no-symbol"),
        pytest.param(no_library, id="no-library"),
        pytest.param(lambda _: Liar(), id="another-layout"),
    ],
)
def test_where_it_cannot_be_done_foreign_certificates_end_the_handshake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, library: Any
) -> None:
    monkeypatch.setattr(handshake, "_library", lambda: library(None))
    serving, asking = contexts(tmp_path, authority("foreign", now=NOW).signs("jane", now=NOW))
    with caplog.at_level(logging.WARNING):
        assert not leave_verification_to_requests(serving)
    assert len(caplog.records) == 1
    with pytest.raises(ssl.SSLCertVerificationError):
        connected(serving, asking)
