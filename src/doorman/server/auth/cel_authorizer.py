"""Answers to what expressions ask about rights: a policy may let in whoever may do something else."""

from doorman.api.identity import AUTHENTICATED, User
from doorman.api.machinery.field_selectors import FieldSelectorError, parse_field_selector
from doorman.semantics.cel.library.authorizer import AuthorizerAnswer, AuthorizerQuestion
from doorman.server.auth.authorization import Authorizer
from doorman.server.auth.impersonation import account_groups
from doorman.server.request import RequestInfo


def answer(authorizer: Authorizer, user: User, question: AuthorizerQuestion) -> AuthorizerAnswer:
    """About whoever asks, or about the service account that the question names."""
    if question.account is not None:
        name = f"system:serviceaccount:{question.account[0]}:{question.account[1]}"
        user = User(name=name, groups=(*account_groups(name), AUTHENTICATED))
    if question.path:
        info = RequestInfo(is_resource=False, verb=question.verb, path=question.path)
    else:
        try:
            selector = parse_field_selector(question.field_selector) if question.field_selector else ()
        except FieldSelectorError as error:
            return AuthorizerAnswer(False, error=str(error))
        info = RequestInfo(
            is_resource=True,
            path="",
            verb=question.verb,
            group=question.group,
            version="*",
            resource=question.resource,
            subresource=question.subresource,
            namespace=question.namespace,
            name=question.name,
            selector=selector,
        )
    decision = authorizer.decide(user, info)
    return AuthorizerAnswer(decision.is_allowed, decision.reason)
