"""taint-expiry-controller: takes off taints whose time is up.

It reads nodes and DeviceTaintRules, and the records in their annotation (`doorman.semantics.taints.taint_records`). A
rule is nothing but its taint: it goes as a whole. What is written carries the object's resource version: whoever renews
the taint at the same instant wins.

Keys: `nodes/<name>` and `rules/<name>`.
"""

from collections.abc import Iterable
from typing import Final

from doorman.api.taints import Taint
from doorman.api.views.nodes import Node
from doorman.api.views.resource.devices import RESOURCE_VERSION, TAINT_RULES, DeviceTaintRule
from doorman.base.clock import Instant
from doorman.client.actions import Action, Delete, ObjectReference, Patch, RecordEvent
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.node.node_taints import taint_body
from doorman.semantics.taints.taint_records import ANNOTATION, expired_taints, next_expiry_or_none, read_records

NAME: Final = "taint-expiry-controller"
WORKERS: Final = 4
_EXPIRES: Final = '"expires"'


def node_keys(change: ObjectChange) -> Iterable[str]:
    return (f"nodes/{change.new.metadata.name}",) if _has_new_records(change) else ()


def rule_keys(change: ObjectChange) -> Iterable[str]:
    return (f"rules/{change.new.metadata.name}",) if _has_new_records(change) else ()


def _has_new_records(change: ObjectChange) -> bool:
    """Heartbeats wake nobody, nor do records of which none says when a taint goes, as most."""
    if change.new is None:
        return False
    text = change.new.metadata.annotations.get(ANNOTATION)
    return (
        text is not None
        and _EXPIRES in text
        and (change.old is None or change.old.metadata.annotations.get(ANNOTATION) != text)
    )


SOURCES: Final = (Source("nodes", node_keys), Source(TAINT_RULES, rule_keys))


def decide_expiry(node: Node, now: Instant) -> tuple[tuple[Action, ...], Instant | None]:
    """What to do now, and when to look again."""
    records = read_records(node.metadata.annotations.get(ANNOTATION))
    gone = expired_taints(node.spec.taints, records, now)
    if not gone:
        return (), next_expiry_or_none(records)
    left = [taint_body(taint) for taint in node.spec.taints if taint not in gone]
    body = {"metadata": {"resourceVersion": node.metadata.resource_version}, "spec": {"taints": left or None}}
    about = ObjectReference(kind="Node", name=node.metadata.name, uid=node.metadata.uid, api_version="v1")
    events = [_event(about, taint) for taint in gone]
    return (Patch(resource="nodes", name=node.metadata.name, body=body), *events), None


def decide_rule_expiry(rule: DeviceTaintRule, now: Instant) -> tuple[tuple[Action, ...], Instant | None]:
    """The same for a rule."""
    meta, its = rule.metadata, rule.spec.taint
    taint = Taint(key=its.key, value=its.value, effect=its.effect)
    records = read_records(meta.annotations.get(ANNOTATION))
    if not expired_taints([taint], records, now):
        return (), next_expiry_or_none(records)
    about = ObjectReference(kind="DeviceTaintRule", name=meta.name, uid=meta.uid, api_version=RESOURCE_VERSION)
    delete = Delete(resource=TAINT_RULES, name=meta.name, uid=meta.uid, resource_version=meta.resource_version)
    return (delete, _event(about, taint)), None


def _event(about: ObjectReference, taint: Taint) -> RecordEvent:
    return RecordEvent(regarding=about, reason="TaintExpired", message=f"Removed taint {taint}", component=NAME)


class TaintExpiryController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, nodes: ListerOf[Node], rules: ListerOf[DeviceTaintRule]) -> None:
        self._nodes = nodes
        self._rules = rules

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, name = key.partition("/")
        node, rule = (self._nodes.get(name), None) if kind == "nodes" else (None, self._rules.get(name))
        if node is not None:
            actions, again = decide_expiry(node, now)
        elif rule is not None:
            actions, again = decide_rule_expiry(rule, now)
        else:
            return DONE
        return Result(actions=actions, wakes=() if again is None else ((key, again),))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of the object is the next try."""
