"""StorageObjectInUseProtection."""

import pytest

from doorman.admission.plugins.storage_object_in_use_protection import decide_finalizers


@pytest.mark.parametrize(
    ("finalizers", "expected"),
    [
        pytest.param([], ["kubernetes.io/pv-protection"], id="none"),
        pytest.param(["a/b"], ["a/b", "kubernetes.io/pv-protection"], id="others"),
        pytest.param(["kubernetes.io/pv-protection"], ["kubernetes.io/pv-protection"], id="there"),
    ],
)
def test_finalizers(finalizers: list[str], expected: list[str]) -> None:
    assert decide_finalizers(finalizers, "kubernetes.io/pv-protection") == expected
