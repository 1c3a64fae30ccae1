"""`$KUBECONFIG` with several files is one kubeconfig."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.core.exceptions import ConfigError

from doorman.client.command_line.kubeconfig_list import merged


def given(file: Path, name: str, current: str = "", **cluster: str) -> Path:
    config: dict[str, Any] = {
        "clusters": [{"name": "shared", "cluster": {"server": f"https://{name}", **cluster}}],
        "contexts": [{"name": name, "context": {"cluster": "shared", "user": name}}],
        "users": [{"name": name, "user": {"token": name}}],
    }
    if current:
        config["current-context"] = current
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(config))
    return file


def test_first_file_counts_for_what_both_have(tmp_path: Path) -> None:
    authority = tmp_path / "one" / "ca.crt"
    first = given(tmp_path / "one" / "config", "a", **{"certificate-authority": "ca.crt"})
    second = given(tmp_path / "two", "b", current="b")
    config = merged([tmp_path / "none", first, second])
    chosen = config.get()
    assert chosen is not None
    assert (chosen.context.user, chosen.cluster.server) == ("b", "https://a")
    assert chosen.cluster.certificate_auth == str(authority)
    other = config.get("a")
    assert other is not None
    assert other.user.token == "a"


def test_no_file_at_all_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not found"):
        merged([tmp_path / "none"])
