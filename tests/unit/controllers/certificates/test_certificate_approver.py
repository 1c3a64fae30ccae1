"""Who is approved without anybody looking."""

from typing import Any

import msgspec
import pytest

from doorman.api.identity import User
from doorman.api.views.access.certificates import CertificateSigningRequest
from doorman.api.well_known import KUBE_APISERVER_CLIENT_SIGNER
from doorman.controllers.certificates.certificate_approver import OTHER, SELF, decide_approval
from doorman.controllers.certificates.signer_rules import KUBELET_CLIENT
from doorman.semantics.cel.library.authorizer import AuthorizerAnswer, AuthorizerQuestion
from support.certificates import CLIENT_USAGES, made_request, request_body

NODE = "system:node:n1"


def request(asker: str, *, signer: str = KUBELET_CLIENT, name: str = NODE, **status: Any) -> CertificateSigningRequest:
    doc = request_body("r", made_request(name, "system:nodes"), signer, CLIENT_USAGES)
    doc["spec"]["username"] = asker
    return msgspec.convert({**doc, "status": status}, CertificateSigningRequest)


@pytest.mark.parametrize(
    ("found", "rights", "expected"),
    [
        pytest.param(request(NODE), {"selfnodeclient"}, SELF, id="rule-2"),
        pytest.param(request(NODE), set(), "", id="rule-4"),
        pytest.param(request("system:node:n2"), {"selfnodeclient"}, "", id="rule-2-another-node"),
        pytest.param(request("system:bootstrap:abc"), {"nodeclient"}, OTHER, id="rule-3"),
        pytest.param(request("system:bootstrap:abc"), {"selfnodeclient"}, "", id="rule-3-other-right"),
        pytest.param(
            request(NODE, signer=KUBE_APISERVER_CLIENT_SIGNER), {"selfnodeclient", "nodeclient"}, "", id="rule-1-signer"
        ),
        pytest.param(request(NODE, name="ada"), {"selfnodeclient", "nodeclient"}, "", id="rule-1-would-not-be-signed"),
        pytest.param(
            request(NODE, conditions=[{"type": "Denied", "status": "True"}]), {"selfnodeclient"}, "", id="rule-1-denied"
        ),
    ],
)
def test_decide_approval(found: CertificateSigningRequest, rights: set[str], expected: str) -> None:
    def authorize(user: User, question: AuthorizerQuestion) -> AuthorizerAnswer:
        assert user.name == found.spec.username
        assert (question.verb, question.resource) == ("create", "certificatesigningrequests")
        return AuthorizerAnswer(question.subresource in rights)

    assert decide_approval(found, authorize) == expected
