"""Files that prove who is who."""

from pathlib import Path

import pytest

from doorman.store.etcd.etcd_tls import EtcdTls


def test_files_are_read_in_the_order_grpc_takes_them(tmp_path: Path) -> None:
    files = []
    for name in ("ca", "cert", "key"):
        files.append(tmp_path / name)
        files[-1].write_text(name)
    assert EtcdTls(*files).read() == (b"ca", b"key", b"cert")
    assert EtcdTls(ca_file=files[0]).read() == (b"ca", None, None)


def test_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        EtcdTls(ca_file=tmp_path / "none").read()
    assert error.value.filename == str(tmp_path / "none")
