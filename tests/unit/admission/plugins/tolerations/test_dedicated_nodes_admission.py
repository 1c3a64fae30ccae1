"""The DedicatedNodes plugin."""

from typing import Any

import pytest

from doorman.admission.plugin_contract import Operation
from doorman.admission.plugins.tolerations.dedicated_nodes_admission import DedicatedNodesPlugin
from doorman.base.errors import ApiError

ML = {"metadata": {"name": "ml"}, "spec": {"nodeSelector": {"matchLabels": {"team": "ml"}}, "namespaces": ["lab"]}}
WILD = {"operator": "Exists"}


def pod(*tolerations: Any, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"tolerations": list(tolerations), **spec}}


def test_pod_of_theirs_is_sent_there(world: Any, asked: Any) -> None:
    made = pod()
    DedicatedNodesPlugin().admit(asked(made, namespace="lab"), world(dedicatednodes=[ML]), 0.0)
    assert made["spec"]["tolerations"] == [
        {"key": "doorman.dev/dedicated", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}
    ]
    assert "nodeAffinity" in made["spec"]["affinity"]


def test_pod_of_others_is_left_alone(world: Any, asked: Any) -> None:
    made = pod()
    request = asked(made)
    DedicatedNodesPlugin().admit(request, world(dedicatednodes=[ML]), 0.0)
    DedicatedNodesPlugin().validate(request, world(dedicatednodes=[ML]), 0.0)
    assert made == pod()


@pytest.mark.parametrize(
    ("made", "told"),
    [
        pytest.param(pod(WILD), 'toleration "every key Exists" lets the pod onto nodes', id="toleration"),
        pytest.param(pod(nodeName="n"), 'node "n" is one of the nodes', id="node-name"),
    ],
)
def test_others_do_not_get_in(made: Any, told: str, world: Any, asked: Any) -> None:
    cluster = world(dedicatednodes=[ML], nodes=[{"metadata": {"name": "n", "labels": {"team": "ml"}}}])
    with pytest.raises(ApiError) as refused:
        DedicatedNodesPlugin().validate(asked(made), cluster, 0.0)
    assert refused.value.code == 403
    assert told in str(refused.value)


def test_toleration_a_pod_has_already_is_not_looked_at_again(world: Any, asked: Any) -> None:
    request = asked(pod(WILD), operation=Operation.UPDATE, old=pod(WILD))
    DedicatedNodesPlugin().validate(request, world(dedicatednodes=[ML]), 0.0)
