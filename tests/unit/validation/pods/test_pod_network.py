"""Host aliases and DNS settings of pods."""

from typing import Any

import pytest

from doorman.semantics.addresses import IP_FAULT
from doorman.semantics.name_syntax import SERVICE_DOMAIN_FAULT, SUBDOMAIN_FAULT
from doorman.validation.pods.pod_network import dns_config_errors, host_alias_errors


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("alias", "expected"),
    [
        pytest.param({"ip": "10.0.0.1", "hostnames": ["a", "b.example"]}, [], id="good"),
        pytest.param({"ip": "2001:db8::1"}, [], id="six"),
        pytest.param({"ip": "300.1.1.1"}, [f'a[0].ip: Invalid value: "300.1.1.1": {IP_FAULT}'], id="address"),
        pytest.param({"hostnames": []}, [f'a[0].ip: Invalid value: "": {IP_FAULT}'], id="no-address"),
        pytest.param(
            {"ip": "10.0.0.1", "hostnames": ["ok", "Bad_Name"]},
            [f'a[0].hostnames[1]: Invalid value: "Bad_Name": {SUBDOMAIN_FAULT}'],
            id="name",
        ),
    ],
)
def test_host_aliases(alias: dict[str, Any], expected: list[str]) -> None:
    assert texts(host_alias_errors([alias], "a")) == expected


@pytest.mark.parametrize(
    ("config", "policy", "expected"),
    [
        pytest.param(None, "ClusterFirst", [], id="none"),
        pytest.param(
            None, "None", ["d: Required value: must provide `dnsConfig` when `dnsPolicy` is None"], id="needed"
        ),
        pytest.param(
            {},
            "None",
            ["d.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"],
            id="server-needed",
        ),
        pytest.param(
            {"nameservers": ["1.1.1.1", "x", "3.3.3.3", "4.4.4.4"]},
            "ClusterFirst",
            [
                'd.nameservers: Invalid value: ["1.1.1.1","x","3.3.3.3","4.4.4.4"]: '
                "must not have more than 3 nameservers",
                f'd.nameservers[1]: Invalid value: "x": {IP_FAULT}',
            ],
            id="servers",
        ),
        pytest.param(
            {"searches": ["a.example.", ".", "_tcp.b", "No"], "options": [{"name": "ndots", "value": "2"}, {}]},
            "Default",
            [
                f'd.searches[3]: Invalid value: "No": {SERVICE_DOMAIN_FAULT}',
                "d.options[1]: Required value: must not be empty",
            ],
            id="searches-and-options",
        ),
    ],
)
def test_dns_config(config: dict[str, Any] | None, policy: str, expected: list[str]) -> None:
    assert texts(dns_config_errors(config, policy, "d")) == expected


def test_search_list_has_limits() -> None:
    many = [f"n{at}" for at in range(33)]
    assert [error.field for error in dns_config_errors({"searches": many}, "Default", "d")] == ["d.searches"]
    long = ["a" * 60 + "." + "b" * 60] * 20
    (error,) = dns_config_errors({"searches": long}, "Default", "d")
    assert "must not have more than 2048 characters (including spaces) in the search list" in str(error)
