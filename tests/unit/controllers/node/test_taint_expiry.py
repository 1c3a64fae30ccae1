"""taint-expiry-controller."""

import msgspec

from doorman.api.views.nodes import Node
from doorman.client.actions import Patch, RecordEvent
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import InformerCache
from doorman.controllers.node.taint_expiry import TaintExpiryController, node_keys

RECORDS = '[{"key":"a","effect":"NoSchedule","expires":"1970-01-01T00:01:00Z"}]'


def node(annotation: str = RECORDS, version: str = "7") -> Node:
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]
    metadata = {"name": "n", "resourceVersion": version, "annotations": {"doorman.dev/taints": annotation}}
    return msgspec.convert({"metadata": metadata, "spec": {"taints": taints}}, Node)


def controller() -> TaintExpiryController:
    nodes: InformerCache[Node] = InformerCache()
    nodes.put("n", node())
    return TaintExpiryController(nodes)


def test_sleeps_until_the_first_expiry() -> None:
    result = controller().reconcile("n", 59.0)
    assert result.actions == ()
    assert result.wakes == (("n", 60.0),)


def test_takes_off_what_expired_and_nothing_else() -> None:
    patch, event = controller().reconcile("n", 60.0).actions
    assert isinstance(patch, Patch)
    assert patch.body == {
        "metadata": {"resourceVersion": "7"},
        "spec": {"taints": [{"key": "b", "effect": "NoExecute"}]},
    }
    assert isinstance(event, RecordEvent)
    assert event.message == "Removed taint a:NoSchedule"


def test_node_that_is_gone_asks_for_nothing() -> None:
    assert controller().reconcile("other", 60.0).actions == ()


def test_only_changed_records_wake_it() -> None:
    assert list(node_keys(ObjectChange("nodes", None, node()))) == ["n"]
    assert list(node_keys(ObjectChange("nodes", node(), node(version="8")))) == []
    assert list(node_keys(ObjectChange("nodes", node(), node("[]")))) == ["n"]
    assert list(node_keys(ObjectChange("nodes", node(), None))) == []
