"""Keys and certificates: private, and told by name when they are damaged."""

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from doorman.runtime.credentials import load_or_make
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
