"""Syntaxes of names and the exact complaints."""

from collections.abc import Callable, Sequence

import pytest

from doorman.api.machinery import label_syntax as label_names
from doorman.semantics.name_syntax import (
    CONFIG_KEY_FAULT,
    DNS_1035_FAULT,
    LABEL_VALUE_FAULT,
    PERCENT_FAULT,
    SUBDOMAIN_FAULT,
    config_key_faults,
    dns_1035_faults,
    dns_label_faults,
    env_name_faults,
    label_value_faults,
    path_segment_faults,
    percent_faults,
    port_name_faults,
    qualified_name_faults,
    subdomain_faults,
)

NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
Q1 = "prefix part must be non-empty"
Q2 = "prefix part must be no more than 253 bytes"
Q3 = f"prefix part {SUBDOMAIN_FAULT}"
Q4 = "name part must be non-empty"
Q5 = "name part must be no more than 63 bytes"
Q6 = f"name part {NAME_RULE}"
Q7 = f"a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
L2 = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
L1 = "must be no more than 63 bytes"
N1 = "must be no more than 253 bytes"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("gpu", (), id="name"),
        pytest.param("example.com/gpu_A.b-c", (), id="prefix-and-name"),
        pytest.param("", (Q4, Q6), id="empty"),
        pytest.param("a=b", (Q6,), id="equals-sign"),
        pytest.param("a" * 64, (Q5,), id="long-name"),
        pytest.param("-" * 64, (Q5, Q6), id="long-and-bad-name"),
        pytest.param("é" * 32, (Q5, Q6), id="length-in-bytes"),
        pytest.param("/x", (Q1,), id="empty-prefix"),
        pytest.param("/", (Q1, Q4, Q6), id="slash-alone"),
        pytest.param("Ex.com/x", (Q3,), id="capital-prefix"),
        pytest.param("a" * 254 + "/x", (Q2,), id="long-prefix"),
        pytest.param("A" * 254 + "/x", (Q2, Q3), id="long-and-bad-prefix"),
        pytest.param("a/b/c", (Q7,), id="two-slashes"),
        pytest.param("x/", (Q4, Q6), id="no-name"),
        pytest.param("-x", (Q6,), id="hyphen-first"),
        pytest.param("x\n", (Q6,), id="newline"),
    ],
)
def test_qualified_name_faults(text: str, expected: tuple[str, ...]) -> None:
    assert qualified_name_faults(text) == expected


@pytest.mark.parametrize(
    ("check", "text", "expected"),
    [
        pytest.param(label_value_faults, "", [], id="value-empty"),
        pytest.param(label_value_faults, "a.b_c-d", [], id="value-good"),
        pytest.param(label_value_faults, "-5", [L2], id="value-hyphen-first"),
        pytest.param(label_value_faults, "a" * 64, [L1], id="value-long"),
        pytest.param(label_value_faults, "-" * 64, [L1, L2], id="value-long-and-bad"),
        pytest.param(label_value_faults, "ä", [L2], id="value-not-ascii"),
        pytest.param(subdomain_faults, "node-1.example.com", [], id="subdomain-good"),
        pytest.param(subdomain_faults, "Bad_Name", [SUBDOMAIN_FAULT], id="subdomain-bad"),
        pytest.param(subdomain_faults, "a..b", [SUBDOMAIN_FAULT], id="subdomain-two-dots"),
        pytest.param(subdomain_faults, "a" * 254, ["must be no more than 253 characters"], id="subdomain-long"),
        pytest.param(dns_label_faults, "my-ns", [], id="label-good"),
        pytest.param(dns_label_faults, "a.b", ["must not contain dots"], id="label-dot"),
        pytest.param(dns_label_faults, "a" * 64, ["must be no more than 63 characters"], id="label-long"),
        pytest.param(dns_1035_faults, "svc-1", [], id="1035-good"),
        pytest.param(dns_1035_faults, "1svc", [DNS_1035_FAULT], id="1035-digit-first"),
        pytest.param(path_segment_faults, "system:node", [], id="segment-good"),
        pytest.param(path_segment_faults, "..", ["may not be '..'"], id="segment-dots"),
        pytest.param(path_segment_faults, "a/b%c", ["may not contain '/'", "may not contain '%'"], id="segment-marks"),
        pytest.param(config_key_faults, "tls.crt", [], id="config-key-good"),
        pytest.param(config_key_faults, "a b", [CONFIG_KEY_FAULT], id="config-key-space"),
        pytest.param(config_key_faults, "..x", ["must not start with '..'"], id="config-key-dots"),
        pytest.param(percent_faults, "93%", [], id="percent-good"),
        pytest.param(percent_faults, "ten", [PERCENT_FAULT], id="percent-word"),
        pytest.param(port_name_faults, "http-1", [], id="port-good"),
        pytest.param(port_name_faults, "80", ["must contain at least one letter (a-z)"], id="port-digits"),
        pytest.param(port_name_faults, "a--b", ["must not contain consecutive hyphens"], id="port-hyphens"),
        pytest.param(env_name_faults, "MY_VAR.x", [], id="env-good"),
    ],
)
def test_faults(check: Callable[[str], Sequence[str]], text: str, expected: list[str]) -> None:
    assert list(check(text)) == expected


def test_label_value_fault_is_said_in_one_place() -> None:
    assert LABEL_VALUE_FAULT == L2


def test_absurdly_long_texts_are_judged_and_not_remembered() -> None:
    before = label_names.label_key_faults.cache_info().currsize
    assert qualified_name_faults("a" * 100_000) == (Q5,)
    assert list(label_value_faults("-" * 100_000)) == [L1, L2]
    assert label_names.label_key_faults.cache_info().currsize == before
