"""ResourceClaimAccess."""

from typing import Any

import pytest

from doorman.admission.plugin_contract import Operation
from doorman.admission.plugins.resource_claim_access import ADMIN_LABEL, ResourceClaimAccess, changed_drivers
from doorman.api.identity import User
from doorman.base.errors import ApiError
from doorman.semantics.cel.library.authorizer import AuthorizerAnswer, AuthorizerQuestion

CLAIMS = "resourceclaims.resource.k8s.io"
TEMPLATES = "resourceclaimtemplates.resource.k8s.io"
RESULT = {"request": "r", "driver": "d.example", "pool": "p", "device": "d0"}
REPORT = {"driver": "d.example", "pool": "p", "device": "d0"}
HUMAN = User(name="jane")
NODE = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
ON_NODE = User(name="system:serviceaccount:a:b", extra={"authentication.kubernetes.io/node-name": ("n1",)})


def rights(*allowed: tuple[str, str, str]) -> Any:
    """By verb, subresource and name."""

    def answer(_user: User, question: AuthorizerQuestion) -> AuthorizerAnswer:
        return AuthorizerAnswer((question.verb, question.subresource, question.name) in allowed)

    return answer


def namespace(label: str = "") -> dict[str, Any]:
    return {"metadata": {"name": "ns", "labels": {ADMIN_LABEL: label} if label else {}}}


def admin_spec() -> dict[str, Any]:
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": True}}]}}


def allocated(**result: Any) -> dict[str, Any]:
    return {"devices": {"results": [{**RESULT, **result}]}, "nodeSelector": {"nodeSelectorTerms": [NODE]}}


@pytest.mark.parametrize(
    ("label", "is_refused"), [("", True), ("false", True), ("true", False)], ids=["none", "no", "yes"]
)
@pytest.mark.parametrize(
    ("resource", "spec"), [(CLAIMS, admin_spec()), (TEMPLATES, {"spec": admin_spec()})], ids=["claim", "template"]
)
def test_admin_access_needs_a_label(
    label: str, is_refused: bool, resource: str, spec: dict[str, Any], world: Any, asked: Any
) -> None:
    request = asked({"metadata": {"name": "c"}, "spec": spec}, resource)
    cluster = world(namespaces=[namespace(label)])
    if not is_refused:
        ResourceClaimAccess(rights()).validate(request, cluster, 0.0)
        return
    with pytest.raises(ApiError) as refused:
        ResourceClaimAccess(rights()).validate(request, cluster, 0.0)
    assert refused.value.code == 422
    assert "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires" in str(refused.value)


def status_error(status: dict[str, Any], old: dict[str, Any], world: Any, asked: Any, *, user: User, may: Any) -> str:
    request = asked(
        {"metadata": {"name": "c"}, "status": status},
        CLAIMS,
        operation=Operation.UPDATE,
        old={"metadata": {"name": "c"}, "status": old},
        subresource="status",
        user=user,
    )
    try:
        ResourceClaimAccess(may).validate(request, world(namespaces=[namespace()]), 0.0)
    except ApiError as error:
        return str(error)
    return ""


def test_allocation_and_reservations_take_the_right_to_bind(world: Any, asked: Any) -> None:
    for new, old in (({"allocation": allocated()}, {}), ({"reservedFor": [{"uid": "1"}]}, {})):
        found = status_error(new, old, world, asked, user=HUMAN, may=rights())
        assert found.endswith(
            "status.allocation: Forbidden: changing status.allocation or status.reservedFor requires "
            'resource="resourceclaims/binding", verb="update" permission: resourceclaims.resource.k8s.io is forbidden: '
            'User "jane" cannot update resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster '
            "scope"
        )
        assert not status_error(new, old, world, asked, user=HUMAN, may=rights(("update", "binding", "")))


def test_grant_of_admin_access_needs_the_label_as_well(world: Any, asked: Any) -> None:
    may = rights(("update", "binding", ""))
    granted = {"allocation": allocated(adminAccess=True)}
    found = status_error(granted, {}, world, asked, user=HUMAN, may=may)
    assert "status.allocation.devices.results[0].adminAccess: Forbidden" in found
    assert not status_error({**granted, "reservedFor": []}, granted, world, asked, user=HUMAN, may=may)


@pytest.mark.parametrize(
    ("user", "allowed", "verbs"),
    [
        pytest.param(HUMAN, (), "[arbitrary-node:update]", id="nobody"),
        pytest.param(HUMAN, ("arbitrary-node:update",), "", id="anywhere"),
        pytest.param(HUMAN, ("associated-node:update",), "[arbitrary-node:update]", id="not-there"),
        pytest.param(ON_NODE, ("associated-node:update",), "", id="there"),
        pytest.param(ON_NODE, (), "[associated-node:update arbitrary-node:update]", id="there-without-rights"),
    ],
)
def test_report_takes_rights_to_its_driver(
    user: User, allowed: tuple[str, ...], verbs: str, world: Any, asked: Any
) -> None:
    old = {"allocation": allocated()}
    may = rights(*((verb, "driver", "d.example") for verb in allowed))
    found = status_error({**old, "devices": [REPORT]}, old, world, asked, user=user, may=may)
    assert (f'verb="{verbs}"' in found) if verbs else not found


def test_drivers_whose_reports_differ() -> None:
    other = {**REPORT, "driver": "e.example"}
    assert changed_drivers({"devices": [REPORT]}, {"devices": [REPORT]}) == []
    assert changed_drivers({"devices": [{**REPORT, "data": {}}]}, {"devices": [REPORT]}) == ["d.example"]
    assert changed_drivers({"devices": [other]}, {"devices": [REPORT]}) == ["d.example", "e.example"]
