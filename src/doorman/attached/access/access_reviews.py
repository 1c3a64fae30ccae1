"""Who may do what, asked of the API server: for the one controller that decides by it."""

from typing import Final

from doorman.api.identity import User
from doorman.attached.component_settings import ComponentSettings
from doorman.base.errors import ApiError
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.unreachable import Unreachable
from doorman.semantics.cel.library.authorizer import AuthorizerAnswer, AuthorizerQuestion

PATH: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class AccessReviews:
    """Asked and waited for: certificates are signed seldom, and their controller decides in one go."""

    def __init__(self, settings: ComponentSettings) -> None:
        self._settings = settings
        self._client: HttpClient | None = None

    def authorize(self, user: User, question: AuthorizerQuestion) -> AuthorizerAnswer:
        attributes = {
            "verb": question.verb,
            "group": question.group,
            "resource": question.resource,
            "subresource": question.subresource,
            "namespace": question.namespace,
            "name": question.name,
        }
        spec = {
            "user": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": {name: list(values) for name, values in user.extra.items()},
            "resourceAttributes": {name: value for name, value in attributes.items() if value},
        }
        body = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": spec}
        try:
            if self._client is None:
                self._client = HttpClient(self._settings.kubeconfig, self._settings.context)
            status = self._client.request("POST", PATH, body=body).get("status") or {}
        except (ApiError, Unreachable) as error:
            return AuthorizerAnswer(is_allowed=False, error=str(error))
        return AuthorizerAnswer(is_allowed=bool(status.get("allowed")), reason=str(status.get("reason") or ""))
