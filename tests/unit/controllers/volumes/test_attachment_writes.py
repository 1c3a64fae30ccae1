"""What the attach-detach controller writes."""

from typing import Any

import pytest

from doorman.controllers.volumes.attachment_writes import report_attached, waiting_events
from support.attaching import UNIQUE, attached_volume, node_view, user


@pytest.mark.parametrize(
    ("users", "text"),
    [
        pytest.param(
            [],
            "Volume is already exclusively attached to one node, waiting on detach before it can be attached to "
            "another node",
            id="nobody",
        ),
        pytest.param([user("a"), user("b")], "Volume is already used by pod(s) a, b", id="neighbours"),
        pytest.param(
            [user("a"), user("b", namespace="other")],
            "Volume is already used by pod(s) a and 1 pod(s) in different namespaces",
            id="neighbours and others",
        ),
        pytest.param(
            [user("b", namespace="other")], "Volume is already used by 1 pod(s) in different namespaces", id="others"
        ),
    ],
)
def test_pod_that_waits_is_told_for_whom(users: list[Any], text: str) -> None:
    [event] = waiting_events(attached_volume(), [user("p")], users)
    assert event.message == f'Waiting for detach for volume "v" {text}'


def test_list_of_attached_volumes_goes_when_it_is_empty() -> None:
    assert report_attached(node_view(), [UNIQUE]).body == {
        "status": {"volumesAttached": [{"name": UNIQUE, "devicePath": ""}]}
    }
    assert report_attached(node_view(), []).body == {"status": {"volumesAttached": None}}
