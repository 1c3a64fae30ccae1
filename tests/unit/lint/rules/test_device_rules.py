"""Tolerations of devices."""

import pytest

from support.linting import ids


@pytest.mark.parametrize(
    "request_",
    [
        "{name: g, exactly: {tolerations: [{key: broken, operator: Exists}]}}",
        "{name: g, tolerations: [{key: broken, operator: Exists}]}",
        "{name: g, firstAvailable: [{name: a}, {name: b, tolerations: [{operator: Exists}]}]}",
    ],
)
def test_device_toleration_without_effect(request_: str) -> None:
    claim = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec:\n"
        f"  devices: {{requests: [{request_}]}}\n"
    )
    assert ids(claim) == ["DM013:5"]
    template = (
        claim.replace("ResourceClaim", "ResourceClaimTemplate").replace("  devices: ", "  spec: {devices: ").rstrip()
        + "}\n"
    )
    assert ids(template) == ["DM013:5"]
    said = claim.replace("operator: Exists", "operator: Exists, effect: NoExecute")
    assert ids(said) == []
