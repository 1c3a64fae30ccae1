"""Keys and certificates: private, and told by name when they are damaged."""

import socket
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from doorman.runtime.access.credentials import certificates_of, load_or_make, own_names, renew_server_certificate
from doorman.store.store_contract import Unusable

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FILES = ("ca.crt", "ca.key", "server.crt", "server.key", "sa.key", "admin.token")


def load(directory: Path) -> None:
    load_or_make(directory, "127.0.0.1", NOW)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff\xfe\x00"], ids=["empty", "garbage", "bytes"])
def test_damaged_file_is_told_by_name(tmp_path: Path, name: str, content: bytes) -> None:
    load(tmp_path)
    file = tmp_path / "pki" / name
    if (name, content) == ("admin.token", b"garbage"):
        content = b"\xff"  # a token may be any word
    file.write_bytes(content)
    with pytest.raises(Unusable, match="is damaged") as refused:
        load(tmp_path)
    assert str(file) in str(refused.value)
    assert "backup" in refused.value.hint


@pytest.mark.parametrize("name", [name for name in FILES if name != "admin.token"])
def test_missing_file_is_told_by_name(tmp_path: Path, name: str) -> None:
    load(tmp_path)
    (tmp_path / "pki" / name).unlink()
    with pytest.raises(Unusable, match=f"{name} is damaged: it cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize(("key", "certificate"), [("ca.key", "ca.crt"), ("server.key", "server.crt")])
def test_key_of_another_certificate_is_told(tmp_path: Path, key: str, certificate: str) -> None:
    load(tmp_path)
    folder = tmp_path / "pki"
    (folder / key).write_bytes((folder / "sa.key").read_bytes())
    with pytest.raises(Unusable, match=f"it is not the key of {certificate}"):
        load(tmp_path)


def test_files_are_private_whatever_they_were(tmp_path: Path) -> None:
    load(tmp_path)
    folder = tmp_path / "pki"
    folder.chmod(0o755)
    for name in FILES:
        (folder / name).chmod(0o644)
    load(tmp_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in FILES} == {0o600}


def names_in(directory: Path) -> set[str]:
    certificate = x509.load_pem_x509_certificate((directory / "pki" / "server.crt").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(value) for kind in (x509.DNSName, x509.IPAddress) for value in names.get_values_for_type(kind)}


def test_certificate_is_for_the_names_that_are_asked_for_and_renewed_for_others(tmp_path: Path) -> None:
    load_or_make(tmp_path, "192.0.2.7", NOW, more_names=["doorman.example.com", "2001:db8::7"])
    assert names_in(tmp_path) >= {"192.0.2.7", "doorman.example.com", "2001:db8::7", "127.0.0.1", "localhost"}
    before = (tmp_path / "pki" / "server.crt").read_bytes()
    load_or_make(tmp_path, "192.0.2.7", NOW, more_names=["doorman.example.com"])
    assert (tmp_path / "pki" / "server.crt").read_bytes() == before, "it is good for these, too"
    authority = (tmp_path / "pki" / "ca.crt").read_bytes()
    load_or_make(tmp_path, "192.0.2.8", NOW)
    assert "192.0.2.8" in names_in(tmp_path)
    assert (tmp_path / "pki" / "ca.crt").read_bytes() == authority


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_server_on_all_addresses_is_known_by_the_names_of_its_host(tmp_path: Path, address: str) -> None:
    load_or_make(tmp_path, address, NOW)
    assert set(own_names()) <= names_in(tmp_path)
    assert socket.gethostname() in own_names()


def test_server_certificate_is_renewed_for_the_same_names_by_the_same_authority(tmp_path: Path) -> None:
    load_or_make(tmp_path, "192.0.2.7", NOW, more_names=["doorman.example.com"])
    names, before = names_in(tmp_path), certificates_of(tmp_path)
    later = NOW.replace(year=2027)
    renew_server_certificate(tmp_path, later)
    after = certificates_of(tmp_path)
    assert after["server.crt"].not_valid_after_utc.year == before["server.crt"].not_valid_after_utc.year + 1
    assert after["ca.crt"] == before["ca.crt"]
    assert names_in(tmp_path) == names
    load_or_make(tmp_path, "192.0.2.7", NOW, more_names=["doorman.example.com"])
    assert certificates_of(tmp_path) == after, "it is good for the server"


def test_directory_without_keys_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="holds no keys"):
        certificates_of(tmp_path)
