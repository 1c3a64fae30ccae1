"""Files that prove who is who."""

import ssl
from pathlib import Path

import pytest

from doorman.store.etcd.etcd_tls import EtcdTls


def test_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        EtcdTls(ca_file=tmp_path / "none").context()
    assert error.value.filename == str(tmp_path / "none")


@pytest.mark.parametrize("member", ["ca_file", "cert_file"])
def test_file_that_is_no_certificate_is_named(tmp_path: Path, member: str) -> None:
    file = tmp_path / "file"
    file.write_text("nothing of the kind")
    with pytest.raises(OSError, match="not what it should be") as error:
        EtcdTls(**{member: file}).context()
    assert error.value.filename == str(file)


def test_server_has_to_prove_itself() -> None:
    context = EtcdTls().context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
