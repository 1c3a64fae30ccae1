"""certificatesigningrequest-approving-controller: approves what kubelets ask for themselves.

Rules
-----
1. Only requests to the signer of kubelets' client certificates that it could grant are looked at.
2. A node that asks for its own name, and may create `certificatesigningrequests/selfnodeclient`, is approved.
3. Whoever may create `certificatesigningrequests/nodeclient` is approved for any node: a bootstrap token, say.
4. Nobody has these rights by default; who runs a cluster binds the roles that carry them.
"""

import base64
from collections.abc import Callable, Iterable
from typing import Final

from cryptography import x509

from doorman.api.identity import User
from doorman.api.views.access.certificates import CertificateSigningRequest
from doorman.api.well_known import CERTIFICATE_SIGNING_REQUESTS
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.client.actions import Patch, PatchType
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.certificates.certificate_signer import condition_documents
from doorman.controllers.certificates.signer_rules import KUBELET_CLIENT, common_name, decide_fault
from doorman.semantics.cel.library.authorizer import AuthorizerAnswer, AuthorizerQuestion

NAME: Final = "certificatesigningrequest-approving-controller"
WORKERS: Final = 1
REASON: Final = "AutoApproved"
SELF: Final = "Auto approving self kubelet client certificate after SubjectAccessReview."
OTHER: Final = "Auto approving kubelet client certificate after SubjectAccessReview."

AccessCheck = Callable[[User, AuthorizerQuestion], AuthorizerAnswer]


def request_keys(change: ObjectChange) -> Iterable[str]:
    return (change.new.metadata.name,) if change.new is not None else ()


SOURCES: Final = (Source(CERTIFICATE_SIGNING_REQUESTS, request_keys),)


def decide_approval(request: CertificateSigningRequest, authorize: AccessCheck) -> str:
    """What is said of the approval; empty when there is none."""
    spec, status = request.spec, request.status
    if spec.signer_name != KUBELET_CLIENT or status.certificate or status.has("Approved") or status.has("Denied"):
        return ""
    parsed = x509.load_pem_x509_csr(base64.b64decode(spec.request))
    if decide_fault(spec.signer_name, spec.usages, parsed):
        return ""
    user = User(name=spec.username, uid=spec.uid, groups=spec.groups, extra=spec.extra)
    if common_name(parsed) == spec.username and authorize(user, _question("selfnodeclient")).is_allowed:
        return SELF
    return OTHER if authorize(user, _question("nodeclient")).is_allowed else ""


def _question(subresource: str) -> AuthorizerQuestion:
    return AuthorizerQuestion(
        verb="create", group="certificates.k8s.io", resource="certificatesigningrequests", subresource=subresource
    )


class CertificateApprovingController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, requests: ListerOf[CertificateSigningRequest], authorize: AccessCheck) -> None:
        self._requests = requests
        self._authorize = authorize

    def start(self, now: Instant) -> Result:  # noqa: ARG002  the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        request = self._requests.get(key)
        message = decide_approval(request, self._authorize) if request is not None else ""
        if request is None or not message:
            return DONE
        approved = {
            "type": "Approved",
            "status": "True",
            "reason": REASON,
            "message": message,
            "lastUpdateTime": to_time(now),
            "lastTransitionTime": to_time(now),
        }
        body = {
            "metadata": {"uid": request.metadata.uid},
            "status": {"conditions": [*condition_documents(request), approved]},
        }
        return Result(
            actions=[
                Patch(
                    resource=CERTIFICATE_SIGNING_REQUESTS,
                    name=key,
                    subresource="approval",
                    body=body,
                    type=PatchType.MERGE,
                )
            ]
        )

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of the request tries again."""
