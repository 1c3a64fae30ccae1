"""Defaults of the kinds that hold a pod template."""

from typing import Any, Final

from doorman.api.well_known import TEMPLATE_GENERATION_ANNOTATION
from doorman.base.json_types import Document
from doorman.validation.pods.pod_defaults import default_pod_spec

INT32_MAX: Final = 2**31 - 1

_Json = dict[str, Any]  # a part of a document, changed in place


def default_pod_template(doc: Document) -> None:
    _default_template(doc)


def default_deployment(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    _default_template(spec)


def default_daemon_set(doc: Document) -> None:
    # A counter that is kept as an annotation, and so always there.
    doc["metadata"].setdefault("annotations", {}).setdefault(TEMPLATE_GENERATION_ANNOTATION, "0")
    spec = doc.setdefault("spec", {})
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    _default_template(spec)


def default_stateful_set(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        # Who names the strategy and gives no numbers gets none; the controller then goes by the same ones.
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        strategy["rollingUpdate"].setdefault("partition", 0)
        strategy["rollingUpdate"].setdefault("maxUnavailable", 1)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {}).setdefault("phase", "Pending")
    _default_template(spec)


def default_replica_set(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    _default_template(spec)


def default_replication_controller(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        metadata = doc.setdefault("metadata", {})
        if not metadata.get("labels"):
            metadata["labels"] = dict(labels)
    if "template" in spec:
        _default_template(spec)


def default_job(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", INT32_MAX if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for condition in rule.get("onPodConditions") or ():
            condition.setdefault("status", "True")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    metadata = doc.setdefault("metadata", {})
    if labels and not metadata.get("labels"):
        metadata["labels"] = labels  # the very same: the strategy adds to them
    _default_template(spec)


def default_cron_job(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    _default_template(spec.setdefault("jobTemplate", {}).setdefault("spec", {}))


def _default_template(holder: _Json) -> None:
    """Also of a template that is not there: what it lacks is then only what nobody can guess."""
    default_pod_spec(holder.setdefault("template", {}).setdefault("spec", {}))
