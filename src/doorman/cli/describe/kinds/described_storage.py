"""PersistentVolumes, StorageClasses, VolumeAttributesClasses and CSINodes as kubectl describes them."""

from collections.abc import Sequence
from typing import Final

from doorman.cli.describe.described_claim import access_modes_text, storage_class_of, volume_phase
from doorman.cli.describe.described_volume import describe_source
from doorman.cli.describe.description import (
    NOTHING,
    UNSET,
    Description,
    Doc,
    Line,
    capital_truth,
    date,
    go_list,
    labels_text,
    member,
)
from doorman.cli.describe.related_objects import RelatedObjects

_IS_DEFAULT: Final = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_CLASS: Final = (
    Line("Annotations", "metadata.annotations", labels_text, absent=NOTHING),
    Line("Provisioner", "provisioner", absent=""),
    Line("Parameters", "parameters", labels_text, absent=NOTHING),
    Line("AllowVolumeExpansion", "allowVolumeExpansion", capital_truth, absent=UNSET),
)
_CLASS_POLICY: Final = (Line("ReclaimPolicy", "reclaimPolicy"), Line("VolumeBindingMode", "volumeBindingMode"))
_ATTRIBUTES_CLASS: Final = (
    Line("Name", "metadata.name"),
    Line("Annotations", "metadata.annotations", labels_text, absent=NOTHING),
    Line("DriverName", "driverName", absent=""),
    Line("Parameters", "parameters", labels_text, absent=NOTHING),
)
_VOLUME: Final = (
    Line("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", absent=""),
    Line("Access Modes", "spec.accessModes", access_modes_text, absent=""),
    Line("VolumeMode", "spec.volumeMode"),
    Line("Capacity", "spec.capacity.storage", absent="0"),
)
_NOT_A_SOURCE: Final = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)


def describe_persistent_volume(out: Description, doc: Doc, related: RelatedObjects) -> None:
    spec = doc["spec"]
    out.head(doc, with_namespace=False)
    out.pair("Finalizers", go_list(doc["metadata"].get("finalizers")))
    out.pair("StorageClass", storage_class_of(doc))
    out.pair("Status", volume_phase(doc, related.now()))
    claim = spec.get("claimRef")
    out.pair("Claim", f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else "")
    out.lines(doc, _VOLUME)
    _describe_node_affinity(out, member(spec, "nodeAffinity", "required"))
    out.pair("Message", member(doc, "status", "message") or "")
    out.line("Source:")
    describe_source(out, {name: value for name, value in spec.items() if name not in _NOT_A_SOURCE}, is_persistent=True)


def describe_storage_class(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    annotations = doc["metadata"].get("annotations") or {}
    out.pair("Name", doc["metadata"]["name"])
    out.pair("IsDefaultClass", "Yes" if any(annotations.get(key) == "true" for key in _IS_DEFAULT) else "No")
    out.lines(doc, _CLASS)
    if doc.get("mountOptions"):
        out.line("MountOptions:")
        for option in doc["mountOptions"]:
            out.line(option, 1)
    else:
        out.pair("MountOptions", NOTHING)
    out.lines(doc, _CLASS_POLICY)
    if doc.get("allowedTopologies"):
        out.line("AllowedTopologies:\t")
        for number, term in enumerate(doc["allowedTopologies"]):
            asked = [{**one, "operator": "In"} for one in term.get("matchLabelExpressions") or ()]
            out.several(f"Term {number}", _requirements(asked), 1)


def describe_volume_attributes_class(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.lines(doc, _ATTRIBUTES_CLASS)


def describe_csi_node(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc, with_namespace=False)
    out.pair("CreationTimestamp", date(doc["metadata"].get("creationTimestamp")))
    out.line("Spec:")
    drivers = member(doc, "spec", "drivers")
    if drivers:
        out.line("Drivers:", 1)
    for driver in drivers or ():
        out.line(f"{driver['name']}:", 2)
        out.pair("Node ID", driver.get("nodeID", ""), 3)
        if member(driver, "allocatable", "count") is not None:
            out.line("Allocatables:", 3)
            out.pair("Count", driver["allocatable"]["count"], 4)
        if driver.get("topologyKeys"):
            out.pair("Topology Keys", go_list(driver["topologyKeys"]), 3)


def _describe_node_affinity(out: Description, required: Doc | None) -> None:
    if required is None:
        out.pair("Node Affinity", NOTHING)
        return
    out.line("Node Affinity:\t")
    terms = required.get("nodeSelectorTerms") or ()
    out.line(f"Required Terms:\t{'' if terms else NOTHING}", 1)
    for number, term in enumerate(terms):
        out.several(f"Term {number}", _requirements(term.get("matchExpressions") or ()), 2)


def _requirements(asked: Sequence[Doc]) -> list[str]:
    """
    >>> _requirements([{"key": "zone", "operator": "In", "values": ["a", "b"]}, {"key": "gpu", "operator": "Exists"}])
    ['zone in [a, b]', 'gpu exists']
    """
    return [
        f"{one['key']} {one['operator'].lower()}" + (f" [{', '.join(one['values'])}]" if one.get("values") else "")
        for one in asked
    ]
