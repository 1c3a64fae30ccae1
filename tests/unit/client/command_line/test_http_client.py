"""The command line's client: kubeconfigs that cannot be used are told in a sentence."""

from pathlib import Path

import pytest

from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.unreachable import Unreachable


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("a: [b", "it is no YAML: while parsing a flow sequence", id="no-yaml"),
        pytest.param("{}", 'it has no "clusters"', id="empty"),
        pytest.param("- a", "it has another shape than a kubeconfig", id="a-list"),
        pytest.param("text", "it has another shape than a kubeconfig", id="text"),
    ],
)
def test_an_unusable_kubeconfig_is_named_with_its_fault(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(Unreachable) as refused:
        HttpClient(path)
    assert f"the kubeconfig {path} cannot be used: {fault}" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.hint
