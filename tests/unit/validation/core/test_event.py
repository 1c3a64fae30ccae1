"""Events of both styles."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.core.event import validate_event_create, validate_event_update

NEW = {
    "eventTime": "2026-01-01T00:00:00.000000Z", "reportingComponent": "c", "reportingInstance": "i", "action": "a",
    "reason": "r", "type": "Normal",
}  # fmt: skip


def event(namespace: str = "default", about: str = "", **fields: Any) -> dict[str, Any]:
    involved = {"namespace": about} if about else {}
    return {"metadata": {"name": "e", "namespace": namespace}, "involvedObject": involved, **fields}


STRICT = Context(group_version="events.k8s.io/v1")
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
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
        pytest.param(event(**{**NEW, "type": "Odd"}), [], id="any-type"),
        pytest.param(event(**NEW, series={"count": 1}), [], id="any-series"),
        pytest.param(event("other", "ns", **NEW), [], id="new-style-about-elsewhere"),
        pytest.param(
            event(**{**NEW, "reportingComponent": ""}),
            [
                "reportingComponent: Required value",
                'reportingComponent: Invalid value: "": name part must be non-empty',
                'reportingComponent: Invalid value: "": ' + NAME_PART,
            ],
            id="no-component",
        ),
    ],
)
def test_validate_event_create(doc: dict[str, Any], expected: list[str]) -> None:
    assert [str(error) for error in validate_event_create(doc, Context())] == expected


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(event(**NEW), [], id="good"),
        pytest.param(
            event(reason="r"),
            ["eventTime: Required value", 'type: Invalid value: "": has invalid value: '],
            id="old-style",
        ),
        pytest.param(
            event(**{**NEW, "type": "Odd"}), ['type: Invalid value: "": has invalid value: Odd'], id="odd-type"
        ),
        pytest.param(
            event(**NEW, count=1, source={"component": "c"}, firstTimestamp="t", lastTimestamp="t"),
            [
                f'{field}: Invalid value: "": needs to be unset'
                for field in ("firstTimestamp", "lastTimestamp", "count", "source")
            ],
            id="members-of-the-old-style",
        ),
        pytest.param(event(**NEW, source={}, firstTimestamp=None), [], id="members-that-say-nothing"),
        pytest.param(
            event(**NEW, series={"count": 1, "lastObservedTime": "t"}),
            ['series.count: Invalid value: "": should be at least 2'],
            id="short-series",
        ),
        pytest.param(
            event(**NEW, series={"count": 2}), ["series.lastObservedTime: Required value"], id="series-without-time"
        ),
    ],
)
def test_event_written_through_its_own_group(doc: dict[str, Any], expected: list[str]) -> None:
    assert [str(error) for error in validate_event_create(doc, STRICT)] == expected


def test_new_style_event_changes_its_series_only() -> None:
    old = event(**NEW)
    assert validate_event_update(event(**NEW, series={"count": 2, "lastObservedTime": "t"}), old, STRICT) == []
    (error,) = validate_event_update(event(**{**NEW, "reason": "x"}), old, STRICT)
    assert str(error) == 'reason: Invalid value: "x": field is immutable'
    assert validate_event_update(event(count=2), event(count=1), Context()) == []


def test_core_event_may_be_changed() -> None:
    assert validate_event_update(event(**{**NEW, "reason": "x"}), event(**NEW), Context()) == []
