"""taint-expiry-controller."""

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.resource.devices import TAINT_RULES, DeviceTaintRule
from doorman.client.actions import Delete, Patch, RecordEvent
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import InformerCache
from doorman.controllers.node.taint_expiry import TaintExpiryController, node_keys, rule_keys

RECORDS = '[{"key":"a","effect":"NoSchedule","expires":"1970-01-01T00:01:00Z"}]'


def node(annotation: str = RECORDS, version: str = "7") -> Node:
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]
    metadata = {"name": "n", "resourceVersion": version, "annotations": {"doorman.dev/taints": annotation}}
    return msgspec.convert({"metadata": metadata, "spec": {"taints": taints}}, Node)


def rule(annotation: str = RECORDS, **taint: str) -> DeviceTaintRule:
    metadata = {"name": "r", "uid": "u", "resourceVersion": "9", "annotations": {"doorman.dev/taints": annotation}}
    taint = {"key": "a", "effect": "NoSchedule"} | taint
    return msgspec.convert({"metadata": metadata, "spec": {"taint": taint}}, DeviceTaintRule)


def controller() -> TaintExpiryController:
    nodes: InformerCache[Node] = InformerCache()
    nodes.put("n", node())
    rules: InformerCache[DeviceTaintRule] = InformerCache()
    rules.put("r", rule())
    return TaintExpiryController(nodes, rules)


def test_sleeps_until_the_first_expiry() -> None:
    result = controller().reconcile("nodes/n", 59.0)
    assert result.actions == ()
    assert result.wakes == (("nodes/n", 60.0),)


def test_takes_off_what_expired_and_nothing_else() -> None:
    patch, event = controller().reconcile("nodes/n", 60.0).actions
    assert isinstance(patch, Patch)
    assert patch.body == {
        "metadata": {"resourceVersion": "7"},
        "spec": {"taints": [{"key": "b", "effect": "NoExecute"}]},
    }
    assert isinstance(event, RecordEvent)
    assert event.message == "Removed taint a:NoSchedule"


def test_node_that_is_gone_asks_for_nothing() -> None:
    assert controller().reconcile("nodes/other", 60.0).actions == ()


def test_only_changed_records_wake_it() -> None:
    assert list(node_keys(ObjectChange("nodes", None, node()))) == ["nodes/n"]
    assert list(node_keys(ObjectChange("nodes", node(), node(version="8")))) == []
    later = '[{"key":"a","effect":"NoSchedule","expires":"1970-01-01T00:02:00Z"}]'
    assert list(node_keys(ObjectChange("nodes", node(), node(later)))) == ["nodes/n"]
    assert list(node_keys(ObjectChange("nodes", node(), None))) == []


def test_records_without_an_expiry_wake_nobody() -> None:
    assert list(node_keys(ObjectChange("nodes", None, node('[{"key":"a","effect":"NoSchedule"}]')))) == []
    assert list(node_keys(ObjectChange("nodes", node(), node("[]")))) == []


def test_rule_goes_as_a_whole_and_only_in_the_version_that_was_seen() -> None:
    waiting = controller().reconcile("rules/r", 59.0)
    assert (waiting.actions, waiting.wakes) == ((), (("rules/r", 60.0),))
    delete, event = controller().reconcile("rules/r", 60.0).actions
    assert delete == Delete(resource=TAINT_RULES, name="r", uid="u", resource_version="9")
    assert isinstance(event, RecordEvent)
    assert (event.regarding.kind, event.message) == ("DeviceTaintRule", "Removed taint a:NoSchedule")


def test_record_of_another_taint_ends_no_rule() -> None:
    rules: InformerCache[DeviceTaintRule] = InformerCache()
    rules.put("r", rule(effect="NoExecute"))
    assert TaintExpiryController(InformerCache(), rules).reconcile("rules/r", 60.0).actions == ()
    assert TaintExpiryController(InformerCache(), rules).reconcile("rules/gone", 60.0).actions == ()


def test_rules_wake_it_as_nodes_do() -> None:
    assert list(rule_keys(ObjectChange(TAINT_RULES, None, rule()))) == ["rules/r"]
    assert list(rule_keys(ObjectChange(TAINT_RULES, rule(), rule(effect="None")))) == []
