"""Objects as etcd holds them: Kubernetes' own keys and values, so that another API server may serve the same etcd.

A key is `RESOURCE/NAMESPACE/NAME` below the prefix, with a few old names for resources, and `GROUP/PLURAL/…` for custom
ones. A value of a built-in kind begins with `{"kind":"Pod","apiVersion":"v1","metadata":{`; what follows are the kept
bytes, and a newline. A value with exactly this head that an API server has written is taken as it is; whatever else
is there (protobuf, another version, other members, what somebody put by hand) is decoded, converted and defaulted, in
memory only. What cannot be read is kept as it is: readers set it aside, and nobody overwrites it unseen.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind, Kinds, builtin_kinds
from doorman.api.machinery.conversion import to_stored
from doorman.api.machinery.schema import Schema
from doorman.api.raw_members import to_written
from doorman.api.storage_keys import PREFIXES
from doorman.api.views.apiextensions import RESOURCE as DEFINITIONS
from doorman.api.well_known import EVENTS
from doorman.base.json_types import Document
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.registry.custom.custom_versions import MARK
from doorman.server.codec.stored_definitions import from_v1beta1
from doorman.validation.defaults import WITH_STATUS_DEFAULTS, defaulter_of

MASTER_LEASE_SECONDS: Final = 15

VERSIONS: Final[Mapping[str, str]] = {
    "clustertrustbundles.certificates.k8s.io": "certificates.k8s.io/v1beta1",
    "podcertificaterequests.certificates.k8s.io": "certificates.k8s.io/v1beta1",
    "leasecandidates.coordination.k8s.io": "coordination.k8s.io/v1beta1",
    "storageversionmigrations.storagemigration.k8s.io": "storagemigration.k8s.io/v1beta1",
    "devicetaintrules.resource.k8s.io": "resource.k8s.io/v1beta2",
    "workloads.scheduling.k8s.io": "scheduling.k8s.io/v1beta1",
    "podgroups.scheduling.k8s.io": "scheduling.k8s.io/v1beta1",
    "events": "v1",
    "horizontalpodautoscalers.autoscaling": "autoscaling/v2",
}
"""In which kinds are written that are not written in the first version of their group."""

SERVERS_OWN: Final[Mapping[str, tuple[str, str, int]]] = {
    "rangeallocations": ("ranges", "RangeAllocation", 0),
    "masterleases": ("masterleases", "Endpoints", MASTER_LEASE_SECONDS),
}
"""What servers tell each other, by the name it has here: where it is, of which kind of `v1`, how long it lives."""

_OLD_DEFINITION: Final = "apiextensions.k8s.io/v1beta1"
_OWN_GROUP: Final = "doorman.dev"
_WRITTEN_BY_A_SERVER: Final = b'"managedFields":['
_CAPACITY: Final = b'"capacity":{'
_ALLOCATABLE: Final = b'"allocatable":{"'
_REVISION_INSIDE: Final = b'"resourceVersion":"'
_REFERENCE: Final = b',"involvedObject":{'
"""With which an event goes on behind its metadata: the object it is about has a revision, too."""

_decode: Final = msgspec.json.Decoder().decode


class _Form:
    """How a built-in resource is written."""

    __slots__ = ("head", "kind")

    def __init__(self, kind: Kind, version: str) -> None:
        self.kind = kind
        self.head = f'{{"kind":"{kind.kind}","apiVersion":"{version}","metadata":{{'.encode()


class EtcdObjects:
    first = PREFIXES[DEFINITIONS] + "/"

    def __init__(self, kinds: Kinds, schema: Schema, *, event_seconds: int) -> None:
        self._kinds = kinds
        self._schema = schema
        self._event_seconds = event_seconds
        self._forms = _forms()
        self._prefixes = {PREFIXES.get(storage, storage.partition(".")[0]): storage for storage in self._forms}
        self._prefixes |= {prefix: storage for storage, (prefix, _, _) in SERVERS_OWN.items()}
        self._several: set[str] = set()
        """Custom resources of which there are several versions."""

    def to_etcd_key(self, key: str) -> str:
        storage, _, rest = key.partition("/")
        if storage in self._forms:
            return f"{PREFIXES.get(storage) or storage.partition('.')[0]}/{rest}"
        if storage in SERVERS_OWN:
            return f"{SERVERS_OWN[storage][0]}/{rest}"
        plural, _, group = storage.partition(".")
        return f"{group}/{plural}/{rest}"

    def from_etcd_key(self, key: str) -> str | None:
        first, _, rest = key.partition("/")
        storage = self._prefixes.get(first)
        if storage is not None:
            return f"{storage}/{rest}"
        second, _, inner = rest.partition("/")
        if not inner:
            return None
        storage = self._prefixes.get(f"{first}/{second}")
        if storage is not None:
            return f"{storage}/{inner}"
        return f"{second}.{first}/{inner}" if "." in first else None

    def seconds_to_live(self, key: str) -> int:
        if key.startswith(f"{EVENTS}/"):
            return self._event_seconds
        own = SERVERS_OWN.get(key.partition("/")[0])
        return own[2] if own is not None else 0

    def to_value(self, key: str, kept: bytes) -> bytes:
        storage = key.partition("/")[0]
        form = self._forms.get(storage)
        if form is not None:
            return b"%s%s\n" % (form.head, kept)
        doc = _decode(b'{"metadata":{' + kept)
        if storage in SERVERS_OWN:
            return _own_value(SERVERS_OWN[storage][1], doc)
        kind = self._kinds.named(storage)
        version = doc.pop(MARK, "") or kind.stored_version or kind.version
        head = {"apiVersion": f"{kind.group}/{version}", "kind": kind.kind}
        return msgspec.json.encode({**head, **doc}, order="sorted") + b"\n"

    def to_kept(self, key: str, value: bytes) -> bytes:
        storage = key.partition("/")[0]
        form = self._forms.get(storage)
        if form is not None and _is_whole(storage, value) and value.startswith(form.head):
            kept = value[len(form.head) : -1] if value.endswith(b"}\n") else value[len(form.head) :].rstrip(b"\n")
            ends = kept.find(_REFERENCE) if storage == EVENTS else -1
            if kept.find(_REVISION_INSIDE, 0, ends if ends >= 0 else len(kept)) < 0:
                return kept
        try:
            doc = _document(value)
            if storage in SERVERS_OWN:
                return _own_kept(SERVERS_OWN[storage][1], key.rpartition("/")[2], doc)
            return self._custom(storage, doc) if form is None else self._builtin(storage, form, doc)
        except (msgspec.MsgspecError, ValueError, KeyError, TypeError, AttributeError):
            return value  # not as an object is kept: whoever reads it sets it aside

    def _custom(self, storage: str, doc: Document) -> bytes:
        version = doc["apiVersion"].rpartition("/")[2]
        return to_kept_bytes({**doc, MARK: version} if storage in self._several else doc)

    def _builtin(self, storage: str, form: _Form, doc: Document) -> bytes:
        api_version = doc.pop("apiVersion")
        if doc.pop("kind") != form.kind.kind:
            raise ValueError("another kind")
        if storage == DEFINITIONS:
            if api_version == _OLD_DEFINITION:
                doc, api_version = from_v1beta1(doc), form.kind.group_version
            self._note_definition(doc)
        group, _, version = api_version.rpartition("/")
        kind = self._kinds.at(group, version, form.kind.resource)
        if kind is None:
            raise ValueError("another version")
        doc, _ = self._schema.clean(doc, kind.type_name)
        doc = to_stored(kind.conversion, doc)
        default = defaulter_of(kind)
        if default is not None:
            default(doc)
        self._schema.complete(doc, self._kinds.stored(kind).type_name)
        return to_kept_bytes(to_written(storage, doc))

    def _note_definition(self, doc: Mapping[str, Any]) -> None:
        spec = doc["spec"]
        resource = f"{spec['names']['plural']}.{spec['group']}"
        self._several.discard(resource)
        if len(spec["versions"]) > 1:
            self._several.add(resource)


def _own_value(kind: str, doc: Document) -> bytes:
    """As kube-apiserver writes it: without a name, which the key says."""
    metadata = {name: value for name, value in doc["metadata"].items() if name != "name"}
    return msgspec.json.encode({"kind": kind, "apiVersion": "v1", **doc, "metadata": metadata}) + b"\n"


def _own_kept(kind: str, name: str, doc: Document) -> bytes:
    if doc.get("kind") != kind:
        raise ValueError("another kind")
    return to_kept_bytes({**doc, "metadata": {**(doc.get("metadata") or {}), "name": name}})


def _is_whole(storage: str, value: bytes) -> bool:
    """Whether an API server wrote it, and left no defaults to be filled in when it is read."""
    if storage == "nodes":  # written often, and all that it may lack is one member
        is_complete = _ALLOCATABLE in value or _CAPACITY not in value
    else:
        is_complete = storage not in WITH_STATUS_DEFAULTS
    return is_complete and _WRITTEN_BY_A_SERVER in value


def _forms() -> dict[str, _Form]:
    forms: dict[str, _Form] = {}
    for kind in builtin_kinds().rows:
        # Ours are where custom ones of the same group would be: with definitions for them a kube-apiserver serves them.
        is_stored = "list" in kind.verbs and "create" in kind.verbs and kind.group != _OWN_GROUP
        if is_stored and kind.storage not in forms and not kind.conversion:
            forms[kind.storage] = _Form(kind, VERSIONS.get(kind.storage, kind.group_version))
    return forms


def _document(value: bytes) -> Document:
    if value.startswith(b"k8s\0"):
        # Loaded when first needed, as for requests.
        from doorman.server.codec.protobuf import decode_protobuf

        return decode_protobuf(value)
    doc: Document = _decode(value)
    return doc
