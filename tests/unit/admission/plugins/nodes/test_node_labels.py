"""Labels that a kubelet may not put on its node."""

import pytest

from doorman.admission.plugins.nodes.node_labels import decide_forbidden_labels, is_forbidden_label


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param("node-restriction.kubernetes.io/x", True, id="rule-1"),
        pytest.param("a.node-restriction.kubernetes.io/x", True, id="rule-1-below"),
        pytest.param("kubernetes.io/role", True, id="rule-2-reserved"),
        pytest.param("x.k8s.io/y", True, id="rule-2-below-reserved"),
        pytest.param("kubernetes.io/hostname", False, id="rule-2-well-known"),
        pytest.param("kubelet.kubernetes.io/x", False, id="rule-2-open"),
        pytest.param("a.node.kubernetes.io/x", False, id="rule-2-below-open"),
        pytest.param("example.com/x", False, id="rule-2-foreign"),
        pytest.param("notkubernetes.io/x", False, id="rule-2-other-domain"),
        pytest.param("plain", False, id="rule-2-no-domain"),
    ],
)
def test_is_forbidden_label(key: str, expected: bool) -> None:
    assert is_forbidden_label(key) is expected


def test_rule_3_only_changes_are_looked_at() -> None:
    old = {"k8s.io/a": "1", "k8s.io/b": "1", "k8s.io/c": "1"}
    new = {"k8s.io/a": "1", "k8s.io/c": "2", "k8s.io/d": "1", "free": "x"}
    assert decide_forbidden_labels(new, old) == ["k8s.io/b", "k8s.io/c", "k8s.io/d"]
