"""The TolerationPolicy plugin."""

from typing import Any

import pytest

from doorman.admission.plugin_contract import Operation
from doorman.admission.plugins.tolerations.toleration_policy_admission import TolerationPolicyPlugin
from doorman.base.errors import ApiError

GPU = {"key": "gpu", "operator": "Exists"}


def policy(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "strict"}, "spec": spec}


def pod(*tolerations: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"tolerations": list(tolerations)}}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        pytest.param(
            {"deny": [{"key": "gpu", "value": "a"}]},
            'TolerationPolicy "strict" denies toleration "gpu Exists" (it may tolerate "gpu Equal a")',
            id="denied",
        ),
        pytest.param(
            {"allow": []}, 'TolerationPolicy "strict" does not allow toleration "gpu Exists"', id="not-allowed"
        ),
    ],
)
def test_refusals(spec: Any, told: str, world: Any, asked: Any) -> None:
    with pytest.raises(ApiError) as refused:
        TolerationPolicyPlugin().validate(asked(pod(GPU)), world(tolerationpolicies=[policy(**spec)]), 0.0)
    assert refused.value.code == 403
    assert told in str(refused.value)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"allow": [GPU]}, id="allowed"),
        pytest.param({"allow": [], "namespaceSelector": {"matchLabels": {"a": "b"}}}, id="other-namespaces"),
    ],
)
def test_passes(spec: Any, world: Any, asked: Any) -> None:
    TolerationPolicyPlugin().validate(asked(pod(GPU)), world(tolerationpolicies=[policy(**spec)]), 0.0)


def test_toleration_a_pod_has_already_is_not_looked_at_again(world: Any, asked: Any) -> None:
    request = asked(pod(GPU), operation=Operation.UPDATE, old=pod(GPU))
    TolerationPolicyPlugin().validate(request, world(tolerationpolicies=[policy(allow=[])]), 0.0)
