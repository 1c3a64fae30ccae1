"""When the finalizer that keeps an object is put on and taken off."""

from typing import Any

import pytest

from doorman.api.views.meta import ObjectMeta
from doorman.controllers.volumes.protection_finalizers import decide_finalizer

F = "kubernetes.io/pv-protection"
GOING = {"deletion_timestamp": "2024-01-02T03:04:05Z"}


@pytest.mark.parametrize(
    ("meta", "is_used", "change"),
    [
        pytest.param({"finalizers": (F,)}, False, None, id="protected"),
        pytest.param({}, False, {"finalizers": [F]}, id="from-before-admission"),
        pytest.param({**GOING, "finalizers": (F,)}, True, None, id="in-use"),
        pytest.param(
            {**GOING, "finalizers": (F,)}, False, {"$deleteFromPrimitiveList/finalizers": [F]}, id="no-longer-in-use"
        ),
        pytest.param(GOING, False, None, id="let-go"),
    ],
)
def test_finalizer(meta: Any, is_used: bool, change: Any) -> None:
    patch = decide_finalizer("persistentvolumes", ObjectMeta(name="v", uid="u", **meta), F, is_used=is_used)
    assert (patch.body if patch is not None else None) == ({"metadata": {"uid": "u", **change}} if change else None)
