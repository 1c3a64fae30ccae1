"""Dedicated nodes: a row for each rule."""

from typing import Any

import msgspec
import pytest

from doorman.api.taints import Toleration
from doorman.api.views.doorman_dev import DedicatedNodes
from doorman.semantics.taints.dedicated_nodes import is_for, trespass_or_none, wanted_taints, with_required_terms

LABELS = {"team": "ml"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def dedicated(name: str = "ml", labels: dict[str, str] = LABELS, **spec: Any) -> DedicatedNodes:
    body = {"metadata": {"name": name}, "spec": {"nodeSelector": {"matchLabels": labels}, **spec}}
    return msgspec.convert(body, DedicatedNodes)


def test_rule_1_nodes_by_label_first_name_first() -> None:
    both = [dedicated("z"), dedicated("a"), dedicated("x", {"team": "web"}), dedicated("e", effect="NoExecute")]
    found = wanted_taints(LABELS, both)
    assert [str(taint) for taint in found] == [
        "doorman.dev/dedicated=a:NoSchedule",
        "doorman.dev/dedicated=e:NoExecute",
    ]
    assert wanted_taints({}, both) == ()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"namespaces": ["ns"]}, True, id="rule-2-by-name"),
        pytest.param({"namespaceSelector": {"matchLabels": {"kind": "lab"}}}, True, id="rule-2-by-label"),
        pytest.param({"groups": ["g"]}, True, id="rule-2-by-group"),
        pytest.param({"namespaces": ["other"], "groups": ["h"]}, False, id="rule-2-none"),
    ],
)
def test_whom_they_are_for(spec: dict[str, Any], expected: bool) -> None:
    found = is_for(dedicated(**spec), namespace="ns", namespace_labels={"kind": "lab"}, groups=("g",))
    assert found is expected


def test_rule_3_every_term_meets_every_selector() -> None:
    own = {
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}
    }
    found = with_required_terms(own, [dedicated(), dedicated("web", {"team": "web"})])
    terms = found["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert [[one["key"] for one in term["matchExpressions"]] for term in terms] == [["a", "team"], ["a", "team"]]
    assert [term["matchExpressions"][1]["values"] for term in terms] == [["ml"], ["web"]]


@pytest.mark.parametrize(
    ("toleration", "namespace", "labels", "is_refused"),
    [
        pytest.param({"operator": "Exists"}, "ns", None, True, id="rule-4-wildcard"),
        pytest.param({"key": "doorman.dev/dedicated", "value": "ml"}, "ns", None, True, id="rule-4-by-name"),
        pytest.param({"key": "other", "operator": "Exists"}, "ns", None, False, id="rule-4-another-taint"),
        pytest.param({"operator": "Exists"}, "kube-system", None, False, id="rule-4-exempt"),
        pytest.param({"key": "other"}, "ns", LABELS, True, id="rule-4-node-by-name"),
        pytest.param({"key": "other"}, "ns", {}, False, id="rule-4-another-node"),
    ],
)
def test_everybody_else(toleration: Any, namespace: str, labels: Any, is_refused: bool) -> None:
    asked = [msgspec.convert(toleration, Toleration)]
    found = trespass_or_none(dedicated(), asked, namespace=namespace, node_labels=labels)
    assert (found is not None) is is_refused
