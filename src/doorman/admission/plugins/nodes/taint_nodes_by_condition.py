"""TaintNodesByCondition: every new node begins as not ready, so that nothing lands before a controller has looked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import CREATE, Attributes, ClusterReader, Interest
from doorman.api.taints import NOT_READY
from doorman.base.clock import Instant

INTERESTS: Final = (Interest(resource="nodes", operations=CREATE),)

_EFFECT: Final = "NoSchedule"


def decide_taint(taints: Iterable[Mapping[str, Any]]) -> dict[str, str] | None:
    """The taint to append, unless the node has it already, with whatever value."""
    if any(taint.get("key") == NOT_READY and taint.get("effect") == _EFFECT for taint in taints):
        return None
    return {"key": NOT_READY, "effect": _EFFECT}


class TaintNodesByCondition:
    name = "TaintNodesByCondition"
    interests: Sequence[Interest] = INTERESTS

    def admit(self, attributes: Attributes, _cluster: ClusterReader, _now: Instant) -> None:
        assert attributes.obj is not None, "a create has an object"
        spec = attributes.obj.setdefault("spec", {})
        taints = spec.get("taints") or []
        if (taint := decide_taint(taints)) is not None:
            spec["taints"] = [*taints, taint]
