"""Disruption budgets that forbid every eviction."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from doorman.api.machinery.label_selectors import Selector, selector_or_nothing
from doorman.api.views.meta import LabelSelector
from doorman.controllers.pods.int_or_percent import scaled
from doorman.lint.lint_documents import LintDocument, mapping
from doorman.lint.lint_rule import LintRule, Problem
from doorman.lint.surroundings import Surroundings

BUDGET: Final = "PodDisruptionBudget"


def check_budget(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    if document.kind != BUDGET:
        return
    spec = mapping(document.value.get("spec"))
    for member, never in (("maxUnavailable", (0, "0", "0%")), ("minAvailable", ("100%",))):
        if member in spec and not isinstance(spec[member], bool) and spec[member] in never:
            yield Problem(("spec", member), f"{member}: {spec[member]} forbids every eviction")
            return
    selector = _selector(spec)
    workloads = [one for one in around.replicated.get(document.namespace, ()) if selector.matches(one.labels)]
    total = sum(replicas(one.document) for one in workloads)
    if total <= 0:
        return
    member = "maxUnavailable" if spec.get("maxUnavailable") is not None else "minAvailable"
    allowed = _allowed(spec, total)
    if allowed is not None and allowed <= 0:
        names = ", ".join(one.document.title for one in workloads)
        yield Problem(
            ("spec", member), f"{member}: {spec[member]} forbids every eviction: {names} has {_pods(total)} altogether"
        )


def replicas(document: LintDocument) -> int:
    """How many pods the workload wants: one when it does not say."""
    found = mapping(document.value.get("spec")).get("replicas")
    return found if isinstance(found, int) and not isinstance(found, bool) else 1


def _allowed(spec: Mapping[str, Any], total: int) -> int | None:
    """Evictions at a time when all is well, as the disruption controller counts them."""
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    if isinstance(most, int | str) and not isinstance(most, bool):
        return scaled(most, total, default=0, round_up=True)
    if isinstance(least, int | str) and not isinstance(least, bool):
        return total - scaled(least, total, default=0, round_up=True)
    return None


def _selector(spec: Mapping[str, Any]) -> Selector:
    try:
        return selector_or_nothing(msgspec.convert(spec.get("selector"), LabelSelector | None))
    except (msgspec.ValidationError, TypeError):
        return selector_or_nothing(None)


def _pods(total: int) -> str:
    return f"{total} pod{'' if total == 1 else 's'}"


RULES: Final = (
    LintRule(
        id="DM014",
        name="budget-forbids-evictions",
        summary="A disruption budget that forbids every eviction.",
        why="With maxUnavailable 0, minAvailable 100%, or as many as there are replicas, no pod may ever be evicted: "
        "drains and "
        "node upgrades hang until somebody deletes pods or the budget.",
        fix="Use `maxUnavailable: 1`, which holds for any number of replicas; or run one replica more than "
        "minAvailable.",
        check=check_budget,
    ),
)  # fmt: skip
