"""`authorizer` in expressions: what is asked of whom, and what is made of the answer."""

import pytest

from doorman.semantics.cel.cel_errors import CostExceeded
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.expression import evaluate
from doorman.semantics.cel.library.authorizer import (
    CHECK_COST,
    AuthorizerAnswer,
    AuthorizerQuestion,
    AuthorizerValue,
)

REQUEST = AuthorizerQuestion(group="apps", resource="deployments", namespace="a", name="web")


class Desk:
    def __init__(self, answer: AuthorizerAnswer) -> None:
        self.answer = answer
        self.asked: list[AuthorizerQuestion] = []

    def look_up(self, question: AuthorizerQuestion) -> AuthorizerAnswer:
        self.asked.append(question)
        return self.answer


def asked(expression: str, answer: AuthorizerAnswer) -> tuple[object, list[AuthorizerQuestion]]:
    desk = Desk(answer)
    return evaluate(expression, {"authorizer": AuthorizerValue(desk.look_up, None, REQUEST)}), desk.asked


@pytest.mark.parametrize(
    ("chain", "question"),
    [
        pytest.param("path('/healthz').check('get')", {"path": "/healthz", "verb": "get"}, id="path"),
        pytest.param(
            "group('').resource('pods').check('list')", {"resource": "pods", "verb": "list"}, id="resource"
        ),
        pytest.param(
            "group('apps').resource('deployments').subresource('scale').namespace('a').name('web').check('patch')",
            {
                "group": "apps", "resource": "deployments", "subresource": "scale", "namespace": "a", "name": "web",
                "verb": "patch",
            },
            id="narrowed",
        ),
        pytest.param(
            "group('').resource('pods').fieldSelector('a=b').labelSelector('c').check('list')",
            {"resource": "pods", "field_selector": "a=b", "label_selector": "c", "verb": "list"}, id="selectors",
        ),
        pytest.param(
            "serviceAccount('a', 'robot').group('').resource('pods').check('get')",
            {"resource": "pods", "account": ("a", "robot"), "verb": "get"}, id="somebody-else",
        ),
        pytest.param(
            "requestResource.check('delete')",
            {"group": "apps", "resource": "deployments", "namespace": "a", "name": "web", "verb": "delete"},
            id="what-the-request-is-about",
        ),
    ],
)  # fmt: skip
def test_question(chain: str, question: dict[str, object]) -> None:
    found, questions = asked(f"authorizer.{chain}.allowed()", AuthorizerAnswer(True))
    assert found is True
    assert questions == [AuthorizerQuestion(**question)]  # type: ignore[arg-type]  # members of a question


@pytest.mark.parametrize(
    ("method", "answer", "expected"),
    [
        pytest.param("allowed", AuthorizerAnswer(False, "no"), False, id="not-allowed"),
        pytest.param("reason", AuthorizerAnswer(False, "because"), "because", id="reason"),
        pytest.param("errored", AuthorizerAnswer(False), False, id="no-error"),
        pytest.param("errored", AuthorizerAnswer(False, error="away"), True, id="error"),
        pytest.param("error", AuthorizerAnswer(False, error="away"), "away", id="which-error"),
    ],
)
def test_answer(method: str, answer: AuthorizerAnswer, expected: object) -> None:
    assert asked(f"authorizer.path('/x').check('get').{method}()", answer)[0] == expected


def test_nothing_is_asked_before_the_check() -> None:
    assert asked("has(authorizer.requestResource)", AuthorizerAnswer(True)) == (True, [])


def test_check_costs_what_an_authorizer_far_away_costs() -> None:
    desk = Desk(AuthorizerAnswer(True))
    names = {"authorizer": AuthorizerValue(desk.look_up)}
    with pytest.raises(CostExceeded):
        evaluate("authorizer.path('/x').check('get').allowed()", names, CostBudget(CHECK_COST))
    assert desk.asked == []
