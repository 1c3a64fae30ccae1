"""How plugins are asked, and how they refuse."""

import pytest

from doorman.admission.plugin_contract import (
    ANY,
    CREATE,
    CREATE_AND_UPDATE,
    Attributes,
    Interest,
    Operation,
    plain_refusal,
    refusal,
    requested_name,
)
from doorman.api.identity import ADMIN
from doorman.base.json_types import Document


def request(name: str = "", obj: Document | None = None, group: str = "") -> Attributes:
    resource = "daemonsets" if group else "pods"
    return Attributes(
        operation=Operation.CREATE, group=group, kind="K", resource=resource, name=name, user=ADMIN, obj=obj
    )


@pytest.mark.parametrize(
    ("interest", "resource", "subresource", "operation", "expected"),
    [
        pytest.param(Interest(resource="pods", operations=CREATE), "pods", "", Operation.CREATE, True, id="same"),
        pytest.param(Interest(resource="pods", operations=CREATE), "pods", "", Operation.UPDATE, False, id="operation"),
        pytest.param(Interest(resource="pods", operations=CREATE), "pods", "status", Operation.CREATE, False, id="sub"),
        pytest.param(Interest(resource=ANY, operations=CREATE_AND_UPDATE), "x.y", "", Operation.UPDATE, True, id="any"),
        pytest.param(
            Interest(resource="pods", subresource=ANY, operations=CREATE),
            "pods",
            "x",
            Operation.CREATE,
            True,
            id="any-sub",
        ),
    ],
)
def test_interest_covers(
    interest: Interest, resource: str, subresource: str, operation: Operation, expected: bool
) -> None:
    assert interest.covers(resource, subresource, operation) is expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        pytest.param(request("asked", {"metadata": {"name": "own"}}), "asked", id="request"),
        pytest.param(request(obj={"metadata": {"name": "own", "generateName": "g-"}}), "own", id="object"),
        pytest.param(request(obj={"metadata": {"generateName": "g-"}}), "g-", id="generate-name"),
        pytest.param(request(obj={}), "Unknown", id="nothing"),
    ],
)
def test_requested_name(attributes: Attributes, expected: str) -> None:
    assert requested_name(attributes) == expected


def test_refusal_names_group_resource_and_object() -> None:
    error = refusal(request("x", group="apps"), "because")
    assert (error.code, error.reason) == (403, "Forbidden")
    assert error.message == 'daemonsets.apps "x" is forbidden: because'
    assert error.details == {"name": "x", "group": "apps", "kind": "daemonsets"}


def test_plain_refusal_is_a_500_without_reason() -> None:
    error = plain_refusal("oops")
    assert (error.code, error.reason, error.message) == (500, "", "oops")
