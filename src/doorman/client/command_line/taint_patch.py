"""Changing a node's taints the way kubectl taint does: one strategic merge patch of what was read."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.api.taints import Taint
from doorman.api.well_known import STRATEGIC_MERGE_PATCH
from doorman.client.command_line.api_client import ApiClient
from doorman.semantics.taints.taint_records import ANNOTATION, wish_annotation
from doorman.semantics.taints.taint_spec import Changed, TaintChange, TaintRefused, apply_taint_change

FIELD_MANAGER: Final = "kubectl-taint"
"""kubectl's own name, so that both tools own the same fields."""

NodeDocument = dict[str, Any]  # a Node as JSON


class TaintWish(msgspec.Struct, frozen=True):
    """What the taints that are added are to be remembered with."""

    reason: str
    span: str


class TaintsRefused(ValueError):
    """The node has such taints already, or never had them; kubectl's words, one for each taint."""

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("\n".join(reasons))
        self.reasons = reasons


def changed_taints(node: NodeDocument, change: TaintChange, *, overwrite: bool) -> Changed:
    """Raises TaintsRefused."""
    before = msgspec.convert(node.get("spec", {}).get("taints", []), list[Taint])
    outcome = apply_taint_change(before, change, node_name=node["metadata"]["name"], overwrite=overwrite)
    if isinstance(outcome, TaintRefused):
        raise TaintsRefused(tuple(outcome.reasons))
    return outcome


def patch_taints(
    client: ApiClient,
    node: NodeDocument,
    change: TaintChange,
    outcome: Changed,
    *,
    wish: TaintWish | None = None,
    query: Mapping[str, str] = {},
) -> NodeDocument:
    """The node afterwards. Raises ApiError."""
    before = msgspec.convert(node.get("spec", {}).get("taints", []), list[Taint])
    taints = taint_documents(outcome)
    body: NodeDocument = {"spec": {"taints": taints or None}} if tuple(before) != outcome.taints else {}
    if wish is not None:
        known = (node["metadata"].get("annotations") or {}).get(ANNOTATION)
        text = wish_annotation(known, change.additions, reason=wish.reason, span=wish.span)
        body["metadata"] = {"annotations": {ANNOTATION: text}}
    path = f"/api/v1/nodes/{node['metadata']['name']}"
    query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict", **query}
    answer: NodeDocument = client.request("PATCH", path, query=query, body=body, content_type=STRATEGIC_MERGE_PATCH)
    return answer


def taint_documents(outcome: Changed) -> list[dict[str, str]]:
    return [_document(taint) for taint in outcome.taints]


def _document(taint: Taint) -> dict[str, str]:
    fields = {"effect": taint.effect, "key": taint.key, "timeAdded": taint.time_added, "value": taint.value}
    return {name: value for name, value in fields.items() if value or name in ("key", "effect")}
