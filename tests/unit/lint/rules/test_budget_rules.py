"""Budgets that forbid every eviction."""

import pytest

from support.linting import ids, workload


def budget(member: str, *, app: str = "web", namespace: str = "default") -> str:
    return (
        f"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: b, namespace: {namespace}}}\n"
        f"spec:\n  {member}\n  selector: {{matchLabels: {{app: {app}}}}}\n"
    )


def replicated(replicas: int | None) -> str:
    count = f"replicas: {replicas}, " if replicas is not None else ""
    return workload().replace("spec: {template:", f"spec: {{{count}template:")


@pytest.mark.parametrize(
    ("member", "replicas", "found"),
    [
        ("maxUnavailable: 0", None, True),
        ("maxUnavailable: 0%", 9, True),
        ("minAvailable: 100%", 9, True),
        ("maxUnavailable: 1", 1, False),
        ("maxUnavailable: 1%", 3, False),
        ("minAvailable: 1", 1, True),
        ("minAvailable: 1", None, True),
        ("minAvailable: 1", 2, False),
        ("minAvailable: 3", 3, True),
        ("minAvailable: 5", 3, True),
        ("minAvailable: 90%", 5, True),
        ("minAvailable: 80%", 5, False),
        ("minAvailable: 1", 0, False),
    ],
)
def test_budget(member: str, replicas: int | None, found: bool) -> None:
    assert ids(budget(member), around=replicated(replicas)) == (["DM014:5"] if found else [])


def test_budget_of_other_pods_or_of_nobody_is_left_alone() -> None:
    assert ids(budget("minAvailable: 1", app="other"), around=replicated(1)) == []
    assert ids(budget("minAvailable: 1", namespace="other"), around=replicated(1)) == []
    assert ids(budget("minAvailable: 1")) == []
