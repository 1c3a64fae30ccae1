"""Webhooks without a network: order, failures, dry runs."""

import json
from typing import Any

import pytest

from doorman.admission.webhooks.webhook_dispatch import Unanswered, Webhooks
from doorman.base.errors import ApiError


class Always:
    last_change = 1


def hook(name: str, **more: Any) -> dict[str, Any]:
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    return {"name": name, "clientConfig": {"url": name}, "rules": [rule], "sideEffects": "None", **more}


class Wire:
    """Answers by name; an exception is raised."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def post(self, config: Any, review: Any, timeout_seconds: int) -> bytes:
        self.asked.append(config.url)
        answer = self.answers.get(config.url, {"allowed": True})
        if isinstance(answer, Exception):
            raise answer
        response = {"uid": review["request"]["uid"], **answer}
        return json.dumps(
            {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
        ).encode()


def built(wire: Wire, world: Any, *hooks: Any, disabled: tuple[str, ...] = ()) -> tuple[Webhooks, Any]:
    half = len(hooks) // 2
    later = {"metadata": {"name": "b"}, "webhooks": hooks[half:]}
    earlier = {"metadata": {"name": "a"}, "webhooks": hooks[:half]}
    cluster = world(validatingwebhookconfigurations=[later, earlier], namespaces=[{"metadata": {"name": "ns"}}])
    return Webhooks([Always(), Always()], wire.post, lambda: "uid", disabled=disabled), cluster


POD = {"metadata": {"name": "p"}}


async def test_first_refusal_in_order_counts(world: Any, asked: Any) -> None:
    no = {"allowed": False, "status": {"message": "second"}}
    wire = Wire(x=no, y={"allowed": False, "status": {"message": "third", "code": 418}})
    webhooks, cluster = built(wire, world, hook("w"), hook("x"), hook("y"))
    assert webhooks.is_wanted(asked(POD), cluster)
    with pytest.raises(ApiError, match='admission webhook "x" denied the request: second'):
        await webhooks.validate(asked(POD), cluster)
    assert wire.asked == ["w", "x", "y"]


@pytest.mark.parametrize(("policy", "is_refused"), [("Fail", True), ("Ignore", False)])
async def test_no_answer(policy: str, is_refused: bool, world: Any, asked: Any) -> None:
    webhooks, cluster = built(Wire(w=Unanswered("nobody there")), world, hook("w", failurePolicy=policy))
    assert webhooks.is_wanted(asked(POD), cluster)
    if is_refused:
        with pytest.raises(ApiError, match='failed calling webhook "w": nobody there'):
            await webhooks.validate(asked(POD), cluster)
    else:
        await webhooks.validate(asked(POD), cluster)


async def test_side_effects_and_dry_run(world: Any, asked: Any) -> None:
    webhooks, cluster = built(Wire(), world, hook("w", sideEffects="Unknown"))
    request = asked(POD)
    request.dry_run = True
    assert webhooks.is_wanted(request, cluster)
    with pytest.raises(ApiError, match='admission webhook "w" does not support dry run'):
        await webhooks.validate(request, cluster)


async def test_warnings_are_passed_on(world: Any, asked: Any) -> None:
    webhooks, cluster = built(Wire(w={"allowed": True, "warnings": ["mind the gap"]}), world, hook("w"))
    request = asked(POD)
    assert webhooks.is_wanted(request, cluster)
    await webhooks.validate(request, cluster)
    assert request.warnings == ["mind the gap"]


def test_configurations_themselves_and_disabled_plugins_are_left_out(world: Any, asked: Any) -> None:
    webhooks, cluster = built(Wire(), world, hook("w"))
    assert not webhooks.is_wanted(asked(POD, "validatingwebhookconfigurations.admissionregistration.k8s.io"), cluster)
    off, cluster = built(Wire(), world, hook("w"), disabled=("ValidatingAdmissionWebhook",))
    assert not off.is_wanted(asked(POD), cluster)
