"""A kubeconfig that is there keeps what is in it."""

import stat
from pathlib import Path

import pytest
import yaml

from doorman.runtime.access.kubeconfig_file import write_kubeconfig
from doorman.store.store_contract import Unusable

OWN = {
    "clusters": [{"name": "doorman", "cluster": {"server": "https://new"}}],
    "users": [{"name": "doorman", "user": {"token": "t"}}],
    "contexts": [{"name": "doorman", "context": {"cluster": "doorman", "user": "doorman"}}],
    "current-context": "doorman",
}
THEIRS = {
    "clusters": [
        {"name": "prod", "cluster": {"server": "https://prod"}},
        {"name": "doorman", "cluster": {"server": "old"}},
    ],
    "users": [{"name": "prod", "user": {"token": "secret"}}],
    "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "prod"}}],
    "current-context": "prod",
    "preferences": {"colors": True},
}


def given(tmp_path: Path, mode: int = 0o640) -> Path:
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(THEIRS))
    file.chmod(mode)
    return file


def test_other_clusters_users_and_contexts_stay(tmp_path: Path) -> None:
    file = given(tmp_path)
    written = write_kubeconfig(file, OWN, takes_over=True)
    found = yaml.safe_load(file.read_text())
    assert [one["name"] for one in found["clusters"]] == ["prod", "doorman"]
    assert found["clusters"][1]["cluster"] == {"server": "https://new"}
    assert found["users"][0] == THEIRS["users"][0]
    assert (found["current-context"], found["preferences"]) == ("doorman", {"colors": True})
    assert written.replaced_context == "prod"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_current_context_stays_in_our_own_file(tmp_path: Path) -> None:
    file = given(tmp_path)
    assert write_kubeconfig(file, OWN, takes_over=False).replaced_context == ""
    assert yaml.safe_load(file.read_text())["current-context"] == "prod"


def test_new_file_is_private_and_complete(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config"
    write_kubeconfig(file, OWN, takes_over=False)
    assert yaml.safe_load(file.read_text())["current-context"] == "doorman"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_link_stays_a_link(tmp_path: Path) -> None:
    file, link = given(tmp_path), tmp_path / "link"
    link.symlink_to(file)
    write_kubeconfig(link, OWN, takes_over=True)
    assert link.is_symlink()
    assert yaml.safe_load(file.read_text())["current-context"] == "doorman"


@pytest.mark.parametrize("text", ["just words", "[1, 2]", "clusters: 7", "a: [", "users: [1]"])
def test_what_is_no_kubeconfig_is_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(Unusable, match="is no kubeconfig"):
        write_kubeconfig(file, OWN, takes_over=True)
    assert file.read_text() == text
