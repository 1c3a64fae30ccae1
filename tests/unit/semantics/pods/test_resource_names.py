"""Whose resource is it?"""

import pytest

from doorman.semantics.pods.resource_names import is_extended_resource, is_native_resource, is_overcommit_allowed


@pytest.mark.parametrize(
    ("name", "native", "extended", "overcommit"),
    [
        pytest.param("cpu", True, False, True, id="rule-1-no-slash"),
        pytest.param("kubernetes.io/x", True, False, True, id="rule-1-own-domain"),
        pytest.param("sub.kubernetes.io/x", True, False, True, id="rule-1-below-own-domain"),
        pytest.param("example.com/gpu", False, True, False, id="rule-2-extended"),
        pytest.param("requests.example.com/gpu", False, False, False, id="rule-2-quota-name"),
        pytest.param("example.com/not a name", False, False, False, id="rule-2-no-label-key"),
        pytest.param("hugepages-2Mi", True, False, False, id="huge-pages"),
    ],
)
def test_resource_names(name: str, native: bool, extended: bool, overcommit: bool) -> None:
    assert is_native_resource(name) is native
    assert is_extended_resource(name) is extended
    assert is_overcommit_allowed(name) is overcommit
