"""Endpoints."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.core.endpoint_subsets import ENDPOINTS


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            {"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80, "protocol": "TCP"}]}]},
            [],
            id="good",
        ),
        pytest.param({"subsets": [{"ports": [{"port": 80, "protocol": "TCP"}]}]}, ["subsets[0]"], id="no-addresses"),
        pytest.param(
            {"subsets": [{"addresses": [{"ip": "127.0.0.1"}]}]}, ["subsets[0].addresses[0].ip"], id="loopback"
        ),
        pytest.param(
            {"subsets": [{"notReadyAddresses": [{}]}]}, ["subsets[0].notReadyAddresses[0].ip"] * 2, id="no-address"
        ),
        pytest.param(
            {"subsets": [{"addresses": [{"ip": "10.1.2.3", "hostname": "a_b", "nodeName": "N"}]}]},
            ["subsets[0].addresses[0].hostname", "subsets[0].addresses[0].nodeName"],
            id="names",
        ),
        pytest.param(
            {
                "subsets": [
                    {
                        "addresses": [{"ip": "10.1.2.3"}],
                        "ports": [{"port": 0, "protocol": "tcp"}, {"name": "a.b", "port": 1}],
                    }
                ]
            },
            [
                "subsets[0].ports[0].name",
                "subsets[0].ports[0].port",
                "subsets[0].ports[0].protocol",
                "subsets[0].ports[1].name",
                "subsets[0].ports[1].protocol",
            ],
            id="ports",
        ),
    ],
)
def test_endpoints(given: Any, expected: list[str]) -> None:
    assert [error.field for error in ENDPOINTS.create({"metadata": {"name": "x"}, **given}, Context())] == expected
