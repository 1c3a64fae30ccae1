"""Lint takes whatever YAML can hold: it finds something or nothing, and never fails."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from doorman.lint.lint_documents import cluster_documents
from doorman.lint.lint_reports import github_report, json_report, sarif_report, text_report
from doorman.lint.linter import lint
from doorman.lint.rule_table import RULES

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from(("", "k", "Exists", "Gt", "NoExecute", "5", "100%", "web")),
)
NAMES = st.sampled_from(
    (
        "metadata", "spec", "template", "tolerations", "taints", "key", "operator", "value", "effect", "labels",
        "annotations", "name", "namespace", "containers", "nodeSelector", "affinity", "nodeAffinity", "replicas",
        "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", "matchExpressions", "minAvailable",
        "maxUnavailable", "selector", "matchLabels", "devices", "requests", "exactly", "firstAvailable",
        "ownerReferences",
    )
)  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)
TOLERATIONS = st.dictionaries(st.sampled_from(("key", "operator", "value", "effect", "tolerationSeconds")), LEAVES)
PODS = st.fixed_dictionaries(
    {"containers": st.just([]), "tolerations": st.lists(st.one_of(TOLERATIONS, LEAVES), max_size=3)},
    optional={"nodeSelector": TREES, "affinity": TREES},
)
KINDS = st.sampled_from(
    (
        "Pod",
        "Node",
        "Deployment",
        "DaemonSet",
        "CronJob",
        "PodDisruptionBudget",
        "ResourceClaim",
        "ResourceClaimTemplate",
    )
)


def document(kind: str, metadata: Any, spec: Any, pod: Any) -> dict[str, Any]:
    if kind == "Pod":
        spec = pod
    elif kind in ("Deployment", "DaemonSet"):
        spec = {"template": {"metadata": metadata, "spec": pod}, **(spec if isinstance(spec, dict) else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}


@given(st.lists(st.builds(document, KINDS, TREES, TREES, PODS), max_size=5))
def test_lint_is_total(objects: list[dict[str, Any]]) -> None:
    rules = list(RULES.values())
    found = lint(cluster_documents(objects), rules)
    assert found == lint(cluster_documents(objects), rules)
    for report in (text_report(found, checked=1), json_report(found, checked=1), sarif_report(found, rules)):
        assert report.endswith("\n")
    assert github_report(found).count("\n") == len(found)
