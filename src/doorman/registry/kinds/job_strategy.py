"""Jobs select their pods by a label nobody else has, their uid. Without `manualSelector` it is put in for them."""

from typing import Any, Final

from doorman.base.json_types import Document

CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS: Final = ("controller-uid", CONTROLLER_UID)


def generate_selector(doc: Document) -> None:
    """Labels and selector of a new job, in place. What the client has set stays; validation says if it is wrong."""
    metadata, spec = doc["metadata"], doc["spec"]
    if not spec.get("manualSelector"):
        if spec.get("template") is None:
            spec["template"] = {}
        labels = _template_labels(spec)
        for name in _NAME_LABELS:
            labels.setdefault(name, metadata.get("name", ""))
        for name in _UID_LABELS:
            labels.setdefault(name, metadata["uid"])
        selector = spec.setdefault("selector", {})
        selector.setdefault("matchLabels", {}).setdefault(CONTROLLER_UID, metadata["uid"])
    below = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if below and (not metadata.get("labels") or metadata["labels"] is below):
        # A job that was given none has those of its template, also those that came just now.
        metadata["labels"] = dict(below)


def forget_selector(doc: Document) -> None:
    """Take back what `generate_selector` put in: the job gets another name and uid."""
    metadata, spec = doc["metadata"], doc["spec"]
    for labels in (_template_labels(spec), metadata.get("labels", {})):
        for name in (*_NAME_LABELS, *_UID_LABELS):
            if labels.get(name) in (metadata.get("name"), metadata["uid"]):
                del labels[name]
    if not metadata.get("labels"):
        metadata.pop("labels", None)
    matched = (spec.get("selector") or {}).get("matchLabels") or {}
    if matched.get(CONTROLLER_UID) == metadata["uid"]:
        del matched[CONTROLLER_UID]


def _template_labels(spec: dict[str, Any]) -> dict[str, str]:  # the spec of a job, changed in place
    found: dict[str, str] = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    return found
