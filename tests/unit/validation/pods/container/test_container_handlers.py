"""Probes and lifecycle hooks."""

from typing import Any

import pytest

from doorman.validation.pods.container.container_handlers import handler_errors

HTTP = {"path": "/", "port": 80, "scheme": "HTTP"}


def faults(grace_seconds: int | None = 30, **container: Any) -> list[str]:
    return [str(error) for error in handler_errors(container, "c", grace_seconds=grace_seconds)]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        pytest.param({"exec": {"command": ["x"]}}, [], id="exec"),
        pytest.param({"httpGet": HTTP}, [], id="http"),
        pytest.param({"tcpSocket": {"port": "web"}}, [], id="tcp"),
        pytest.param({}, [": Required value: must specify a handler type"], id="nothing"),
        pytest.param({"exec": {}}, [".exec.command: Required value"], id="no-command"),
        pytest.param(
            {"exec": {"command": ["x"]}, "tcpSocket": {"port": 0}},
            [".tcpSocket: Forbidden: may not specify more than 1 handler type"],
            id="two",
        ),
        pytest.param(
            {"httpGet": {"port": 70000, "scheme": "ftp", "httpHeaders": [{"name": "a b"}]}},
            [
                ".httpGet.path: Required value",
                ".httpGet.port: Invalid value: 70000: must be between 1 and 65535, inclusive",
                '.httpGet.scheme: Unsupported value: "ftp": supported values: "HTTP", "HTTPS"',
                '.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric '
                "characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
            ],
            id="bad-http",
        ),
    ],
)
def test_actions_of_probes_and_hooks(action: dict[str, Any], expected: list[str]) -> None:
    assert faults(readinessProbe=action) == [f"c.readinessProbe{text}" for text in expected]
    assert faults(lifecycle={"preStop": action}) == [f"c.lifecycle.preStop{text}" for text in expected]


@pytest.mark.parametrize(
    ("seconds", "grace", "good"),
    [(0, 30, True), (30, 30, True), (31, 30, False), (-1, 30, False), (31, None, True)],
    ids=["none", "all-of-it", "too-long", "negative", "no-grace-known"],
)
def test_sleep_ends_within_the_grace(seconds: int, grace: int | None, good: bool) -> None:
    found = faults(grace, lifecycle={"preStop": {"sleep": {"seconds": seconds}}})
    text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
    assert found == ([] if good else [f"c.lifecycle.preStop.sleep: Invalid value: {seconds}: {text}"])


def test_numbers_of_probes() -> None:
    probe = {"httpGet": HTTP, "periodSeconds": -1, "successThreshold": 2, "terminationGracePeriodSeconds": 0}
    negative = "periodSeconds: Invalid value: -1: must be greater than or equal to 0"
    grace = "terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"
    assert faults(livenessProbe=probe) == [
        f"c.livenessProbe.{negative}",
        f"c.livenessProbe.{grace}",
        "c.livenessProbe.successThreshold: Invalid value: 2: must be 1",
    ]
    assert faults(readinessProbe={**probe, "terminationGracePeriodSeconds": 5}) == [
        f"c.readinessProbe.{negative}",
        "c.readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes",
    ]
