"""Claims and ingresses that name no class."""

from typing import Any

import pytest

from doorman.admission.class_defaults import INGRESS_MARKS, STORAGE_MARKS, decide_default

DAY, NEXT = "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"


def class_(name: str, at: str = DAY, mark: str = STORAGE_MARKS[0], value: str = "true") -> dict[str, Any]:
    return {"metadata": {"name": name, "creationTimestamp": at, "annotations": {mark: value}}}


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        pytest.param([], "", id="rule-2-none"),
        pytest.param([class_("a", value="false")], "", id="rule-2-not-marked"),
        pytest.param([class_("a", mark=STORAGE_MARKS[1])], "a", id="rule-2-old-mark"),
        pytest.param([class_("a"), class_("b", NEXT)], "b", id="rule-2-newest"),
        pytest.param([class_("b"), class_("a")], "a", id="rule-2-first-by-name"),
        pytest.param([class_("a", mark=INGRESS_MARKS[0])], "", id="rule-2-mark-of-another-kind"),
    ],
)
def test_default(classes: list[dict[str, Any]], expected: str) -> None:
    assert decide_default(classes, STORAGE_MARKS) == expected
