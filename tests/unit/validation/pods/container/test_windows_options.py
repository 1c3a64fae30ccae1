"""Options of containers on Windows."""

from typing import Any

import pytest

from doorman.validation.pods.container.windows_options import host_process_errors, windows_option_errors


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"runAsUserName": "DOMAIN\\user", "gmsaCredentialSpecName": "a"}, [], id="good"),
        pytest.param({"gmsaCredentialSpecName": "Bad Name"}, ["w.gmsaCredentialSpecName"], id="name"),
        pytest.param({"gmsaCredentialSpec": ""}, ["w.gmsaCredentialSpec"], id="empty-spec"),
        pytest.param({"runAsUserName": ""}, ["w.runAsUserName"], id="empty-user"),
        pytest.param({"runAsUserName": "a\\b\\c"}, ["w.runAsUserName"], id="two-backslashes"),
        pytest.param({"runAsUserName": ".."}, ["w.runAsUserName"], id="only-periods"),
        pytest.param({"runAsUserName": "/abs"}, ["w.runAsUserName"], id="characters"),
    ],
)
def test_windows_options(given: Any, expected: list[str]) -> None:
    assert [error.field for error in windows_option_errors(given, "w")] == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [{}]}, [], id="none"),
        pytest.param(
            {"containers": [{"securityContext": {"windowsOptions": {"hostProcess": True}}}, {}]},
            ["spec", "spec.hostNetwork"],
            id="some",
        ),
        pytest.param(
            {"hostNetwork": True, "securityContext": {"windowsOptions": {"hostProcess": True}}, "containers": [{}]},
            [],
            id="all",
        ),
    ],
)
def test_host_processes(spec: Any, expected: list[str]) -> None:
    assert [error.field for error in host_process_errors(spec, "spec")] == expected
