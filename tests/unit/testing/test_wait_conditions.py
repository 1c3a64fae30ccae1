"""kubectl wait's conditions."""

from typing import Any

import pytest

from doorman.testing.wait_conditions import parse_wait

POD: dict[str, Any] = {
    "metadata": {"labels": {"app.kubernetes.io/name": "web"}},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "False"}],
        "containerStatuses": [{"name": "c", "ready": True, "restartCount": 2}],
    },
}


@pytest.mark.parametrize(
    ("text", "holds", "holds_when_gone"),
    [
        ("condition=Ready", True, False),
        ("condition=ready=true", True, False),
        ("condition=Ready=False", False, False),
        ("condition=Initialized=false", True, False),
        ("condition=Unknown", False, False),
        ("delete", False, True),
        ("create", True, False),
        ("jsonpath={.status.phase}=Running", True, False),
        ("jsonpath='{.status.phase}'=Running", True, False),
        ("jsonpath={.status.phase}=Pending", False, False),
        ("jsonpath={.status.phase}", True, False),
        ("jsonpath={.status.podIP}", False, False),
        ("jsonpath={.status.containerStatuses[0].restartCount}=2", True, False),
        ("jsonpath={.status.containerStatuses[-1].ready}=true", True, False),
        ("jsonpath={.status.containerStatuses[1].ready}=true", False, False),
        ('jsonpath={.status.conditions[?(@.type=="Ready")].status}=True', True, False),
        (r"jsonpath={.metadata.labels.app\.kubernetes\.io/name}=web", True, False),
        ("jsonpath={.metadata.labels['app.kubernetes.io/name']}=web", True, False),
        ("jsonpath={.status.phase.deeper}=x", False, False),
    ],
)
def test_condition(text: str, holds: bool, holds_when_gone: bool) -> None:
    assert parse_wait(text)(POD) is holds
    assert parse_wait(text)(None) is holds_when_gone


@pytest.mark.parametrize("text", ["", "Ready", "jsonpath=.status.phase", "jsonpath={.a[}=b"])
def test_condition_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError):
        parse_wait(text)
