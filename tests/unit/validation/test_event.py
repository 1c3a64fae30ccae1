"""Events of both styles."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.event import validate_event_create, validate_event_update

NEW = {
    "eventTime": "2026-01-01T00:00:00.000000Z", "reportingComponent": "c", "reportingInstance": "i", "action": "a",
    "reason": "r", "type": "Normal",
}  # fmt: skip


def event(namespace: str = "default", about: str = "", **fields: Any) -> dict[str, Any]:
    involved = {"namespace": about} if about else {}
    return {"metadata": {"name": "e", "namespace": namespace}, "involvedObject": involved, **fields}


OTHER = 'involvedObject.namespace: Invalid value: "{}": does not match event.namespace'


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(event(), [], id="cluster-object-in-default"),
        pytest.param(event("ns", "ns"), [], id="same-namespace"),
        pytest.param(event("ns", "other"), [OTHER.format("other")], id="other-namespace"),
        pytest.param(event("ns"), [OTHER.format("")], id="cluster-object-elsewhere"),
        pytest.param(event("kube-system"), [OTHER.format("")], id="old-style-not-in-kube-system"),
        pytest.param(event("kube-system", **NEW), [], id="new-style-in-kube-system"),
        pytest.param(event(**{**NEW, "action": ""}), ["action: Required value"], id="no-action"),
        pytest.param(
            event(**{**NEW, "reason": "r" * 129}),
            ['reason: Invalid value: "": can have at most 128 characters'],
            id="long-reason",
        ),
        pytest.param(
            event(**{**NEW, "type": "Odd"}), ['type: Invalid value: "Odd": has invalid value: Odd'], id="type"
        ),
        pytest.param(
            event(**NEW, series={"count": 1, "lastObservedTime": "t"}),
            ['series.count: Invalid value: "": should be at least 2'],
            id="series",
        ),
    ],
)
def test_validate_event_create(doc: dict[str, Any], expected: list[str]) -> None:
    assert [str(error) for error in validate_event_create(doc, Context())] == expected


def test_new_style_event_changes_its_series_only() -> None:
    old = event(**NEW)
    assert validate_event_update(event(**NEW, series={"count": 2, "lastObservedTime": "t"}), old, Context()) == []
    (error,) = validate_event_update(event(**{**NEW, "reason": "x"}), old, Context())
    assert str(error) == 'reason: Invalid value: "x": field is immutable'
    assert validate_event_update(event(count=2), event(count=1), Context()) == []
