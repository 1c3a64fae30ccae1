"""PodSecurity."""

from typing import Any

import pytest

from doorman.admission.plugin_contract import Operation
from doorman.admission.plugins.pod_security import PodSecurity
from doorman.base.errors import ApiError

PREFIX = "pod-security.kubernetes.io/"


def namespace(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "ns", "labels": {PREFIX + key.replace("_", "-"): v for key, v in labels.items()}}}


def test_levels_and_versions_are_accepted(world: Any, asked: Any) -> None:
    good = namespace(enforce="restricted", enforce_version="latest", warn="baseline", audit_version="v1.30")
    PodSecurity().validate(asked(good, "namespaces"), world(), 0.0)


@pytest.mark.parametrize(
    ("labels", "field"),
    [
        pytest.param({"enforce": "strict"}, f"metadata.labels[{PREFIX}enforce]", id="level"),
        pytest.param({"warn_version": "1.30"}, f"metadata.labels[{PREFIX}warn-version]", id="version"),
    ],
)
def test_other_values_are_a_422(labels: dict[str, str], field: str, world: Any, asked: Any) -> None:
    with pytest.raises(ApiError) as refused:
        PodSecurity().validate(asked(namespace(**labels), "namespaces"), world(), 0.0)
    assert refused.value.code == 422
    assert [cause.field for cause in refused.value.causes] == [field]


def test_what_was_wrong_already_may_stay_as_it_is(world: Any, asked: Any) -> None:
    old = namespace(enforce="strict")
    same = asked(namespace(enforce="strict"), "namespaces", operation=Operation.UPDATE, old=old)
    PodSecurity().validate(same, world(), 0.0)
    other = asked(namespace(enforce="stricter"), "namespaces", operation=Operation.UPDATE, old=old)
    with pytest.raises(ApiError, match="stricter"):
        PodSecurity().validate(other, world(), 0.0)
