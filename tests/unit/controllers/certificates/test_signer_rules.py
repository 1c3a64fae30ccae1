"""What the signers demand: a row for each rule."""

from typing import Any

import pytest

from doorman.api.well_known import KUBE_APISERVER_CLIENT_SIGNER as CLIENT
from doorman.controllers.certificates.signer_rules import KUBELET_CLIENT, KUBELET_SERVING, decide_fault
from support.certificates import CLIENT_USAGES, SERVER_USAGES, made_request

NODE = ("system:node:n1", "system:nodes")
NO_ENCIPHERMENT = [usage for usage in CLIENT_USAGES if usage != "key encipherment"]


@pytest.mark.parametrize(
    ("signer", "subject", "names", "usages", "fault"),
    [
        pytest.param(CLIENT, ("ada", "dev"), {}, CLIENT_USAGES, "", id="rule-1"),
        pytest.param(CLIENT, ("ada",), {}, ["client auth"], "", id="rule-1-key-usages-are-optional"),
        pytest.param(CLIENT, ("ada",), {}, SERVER_USAGES, "usages did not match", id="rule-1-server"),
        pytest.param(KUBELET_CLIENT, NODE, {}, CLIENT_USAGES, "", id="rule-2"),
        pytest.param(KUBELET_CLIENT, NODE, {}, NO_ENCIPHERMENT, "", id="rule-2-without-encipherment"),
        pytest.param(KUBELET_CLIENT, NODE, {}, ["client auth"], "usages did not match", id="rule-2-usages"),
        pytest.param(
            KUBELET_CLIENT, ("ada", "system:nodes"), {}, CLIENT_USAGES,
            "subject common name does not begin with system:node: ", id="rule-2-name",
        ),
        pytest.param(
            KUBELET_CLIENT, (*NODE, "system:masters"), {}, CLIENT_USAGES, "subject organization is not system:nodes",
            id="rule-2-organization",
        ),
        pytest.param(
            KUBELET_CLIENT, NODE, {"dns": ["a"]}, CLIENT_USAGES, "DNS subjectAltNames are not allowed", id="rule-2-dns"
        ),
        pytest.param(
            KUBELET_CLIENT, NODE, {"addresses": ["10.0.0.1"]}, CLIENT_USAGES, "IP subjectAltNames are not allowed",
            id="rule-2-address",
        ),
        pytest.param(KUBELET_SERVING, NODE, {"dns": ["n1"], "addresses": ["10.0.0.1"]}, SERVER_USAGES, "", id="rule-3"),
        pytest.param(
            KUBELET_SERVING, NODE, {}, SERVER_USAGES, "DNS or IP subjectAltName is required", id="rule-3-no-name"
        ),
        pytest.param(
            KUBELET_SERVING, NODE, {"dns": ["n1"], "emails": ["a@b.c"]}, SERVER_USAGES,
            "Email subjectAltNames are not allowed", id="rule-3-email",
        ),
        pytest.param(
            KUBELET_SERVING, NODE, {"dns": ["n1"], "uris": ["https://a"]}, SERVER_USAGES,
            "URI subjectAltNames are not allowed", id="rule-3-uri",
        ),
        pytest.param(
            KUBELET_SERVING, NODE, {"dns": ["n1"]}, CLIENT_USAGES,
            "usages did not match [digital signature key encipherment server auth]", id="rule-3-usages",
        ),
    ],
)  # fmt: skip
def test_decide_fault(signer: str, subject: tuple[str, ...], names: Any, usages: list[str], fault: str) -> None:
    found = decide_fault(signer, usages, made_request(*subject, **names))
    assert found.startswith(fault) if fault else not found
