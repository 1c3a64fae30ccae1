"""What stands in many descriptions of workloads: the template of their pods, who owns them, how their pods do."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from doorman.cli.describe.described_container import describe_containers
from doorman.cli.describe.described_pod import describe_scheduling_group, describe_spread, toleration_text
from doorman.cli.describe.described_volume import describe_volumes
from doorman.cli.describe.description import NOTHING, Description, Doc, selector_text

_SPACE: Final = "  "
"""A template's parts stand two spaces further in, but what is below them does not."""


def describe_template(out: Description, template: Doc) -> None:
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    out.line("Pod Template:")
    out.labels(f"{_SPACE}Labels", metadata.get("labels"))
    if metadata.get("annotations"):
        out.annotations(metadata["annotations"], f"{_SPACE}Annotations")
    if spec.get("serviceAccountName"):
        out.pair("Service Account", spec["serviceAccountName"], 1)
    for title, field in (("Init Containers", "initContainers"), ("Containers", "containers")):
        if spec.get(field):
            describe_containers(out, f"{_SPACE}{title}", spec[field], (), None, name_indent=" ")
    describe_volumes(out, spec.get("volumes") or (), _SPACE)
    describe_spread(out, spec, _SPACE)
    if spec.get("priorityClassName"):
        out.pair("Priority Class Name", spec["priorityClassName"], 1)
    out.labels(f"{_SPACE}Node-Selectors", spec.get("nodeSelector"))
    tolerations = sorted(spec.get("tolerations") or (), key=lambda one: str(one.get("key", "")))
    out.several(f"{_SPACE}Tolerations", [toleration_text(one) for one in tolerations])
    describe_scheduling_group(out, spec, _SPACE)


def describe_owner(out: Description, doc: Doc) -> None:
    owner = next((one for one in doc["metadata"].get("ownerReferences") or () if one.get("controller")), None)
    if owner is not None:
        out.pair("Controlled By", f"{owner['kind']}/{owner['name']}")


def set_selector_text(selector: Doc | None) -> str:
    """As a selector prints itself: one that asks for nothing is empty."""
    text = selector_text(selector)
    return "" if text == NOTHING else text


def phases_text(pods: Sequence[Doc]) -> str:
    found = Counter((pod.get("status") or {}).get("phase") for pod in pods)
    waiting = found["Pending"]
    return f"{found['Running']} Running / {waiting} Waiting / {found['Succeeded']} Succeeded / {found['Failed']} Failed"
