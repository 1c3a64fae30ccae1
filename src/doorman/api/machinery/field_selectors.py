"""Field selectors: the grammar, and which fields of which kind can be selected.

A kind's fields are read from its view. Kinds without a row here know only metadata.name and metadata.namespace.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

FieldReader = Callable[[Any], str]  # a view to the field's text


class FieldTerm(msgspec.Struct, frozen=True):
    field: str
    value: str
    is_equal: bool

    def admits(self, found: str) -> bool:
        return (found == self.value) is self.is_equal


class FieldSelectorError(ValueError):
    """The text is no field selector, or names a field that cannot be selected."""


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _meta(namespaced: bool) -> dict[str, FieldReader]:
    readers: dict[str, FieldReader] = {"metadata.name": lambda o: str(o.metadata.name)}
    if namespaced:
        readers["metadata.namespace"] = lambda o: str(o.metadata.namespace)
    return readers


def path_reader(path: str) -> FieldReader:
    """Reads a path of a document, for kinds whose view is only their metadata."""
    steps = path.split(".")

    def read(doc: Any) -> str:
        for step in steps:
            if not isinstance(doc, dict):
                return ""
            doc = doc.get(step)
        if isinstance(doc, bool):
            return _bool(doc)
        return "" if doc is None else str(doc)

    return read


FIELDS: Final[Mapping[str, Mapping[str, FieldReader]]] = {
    "pods": {
        **_meta(True),
        "spec.nodeName": lambda p: str(p.spec.node_name),
        "spec.restartPolicy": lambda p: str(p.spec.restart_policy),
        "spec.schedulerName": lambda p: str(p.spec.scheduler_name),
        "spec.serviceAccountName": lambda p: str(p.spec.service_account_name),
        "spec.hostNetwork": lambda p: _bool(p.spec.host_network),
        "status.phase": lambda p: str(p.status.phase),
        "status.podIP": lambda p: str(p.status.pod_ips[0].ip if p.status.pod_ips else p.status.pod_ip),
        "status.podIPs": lambda _: "",
        "status.nominatedNodeName": lambda p: str(p.status.nominated_node_name),
    },
    "nodes": {**_meta(False), "spec.unschedulable": lambda n: _bool(n.spec.unschedulable)},
}
"""By storage. Read from views."""

_INVOLVED: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def _event_source(doc: Any) -> str:
    source = doc.get("source") or {}
    return str(source.get("component") or doc.get("reportingComponent") or "")


DOCUMENT_FIELDS: Final[Mapping[str, Mapping[str, FieldReader]]] = {
    "namespaces": {"status.phase": path_reader("status.phase")},
    "secrets": {"type": path_reader("type")},
    "services": {"spec.clusterIP": path_reader("spec.clusterIP"), "spec.type": path_reader("spec.type")},
    "replicationcontrollers": {"status.replicas": lambda d: path_reader("status.replicas")(d) or "0"},
    "jobs.batch": {"status.successful": lambda d: path_reader("status.succeeded")(d) or "0"},
    "events": {
        **{f"involvedObject.{field}": path_reader(f"involvedObject.{field}") for field in _INVOLVED},
        "reason": path_reader("reason"),
        "reportingComponent": path_reader("reportingComponent"),
        "source": _event_source,
        "type": path_reader("type"),
    },
    "resourceslices.resource.k8s.io": {
        "spec.nodeName": path_reader("spec.nodeName"),
        "spec.driver": path_reader("spec.driver"),
        "spec.pool.name": path_reader("spec.pool.name"),
    },
    "certificatesigningrequests.certificates.k8s.io": {"spec.signerName": path_reader("spec.signerName")},
    "clustertrustbundles.certificates.k8s.io": {"spec.signerName": path_reader("spec.signerName")},
    "podcertificaterequests.certificates.k8s.io": {
        path: path_reader(path) for path in ("spec.signerName", "spec.podName", "spec.nodeName")
    },
}
"""By storage. Read from documents, beside metadata.name and metadata.namespace."""

_ALIASES: Final = {("pods", "spec.host"): "spec.nodeName"}
_NOT_SUPPORTED: Final = "field label not supported: {0}"
_UNKNOWN: Final = {
    **dict.fromkeys(
        ("pods", "nodes", "events", "namespaces", "secrets", "services", "replicationcontrollers"), _NOT_SUPPORTED
    ),
    **dict.fromkeys(
        (
            f"{name}.certificates.k8s.io"
            for name in ("certificatesigningrequests", "clustertrustbundles", "podcertificaterequests")
        ),
        _NOT_SUPPORTED,
    ),
    "jobs.batch": 'field label "{0}" not supported for Job',
    "resourceslices.resource.k8s.io": "field label not supported for {1}, Kind={2}: {0}",
}
"""What is said of a field that a kind with fields of its own does not know: the field, the version and the kind."""
_EVENTS_V1: Final = {
    **{f"regarding.{field}": f"involvedObject.{field}" for field in _INVOLVED},
    "reportingController": "reportingComponent",
}


def parse_field_selector(text: str) -> tuple[FieldTerm, ...]:
    """
    >>> parse_field_selector("spec.nodeName=n1,status.phase!=Failed")[1]
    FieldTerm(field='status.phase', value='Failed', is_equal=False)
    """
    terms = (_term(part, text) for part in sorted(_split(text)) if part)
    return tuple(term for term in terms if term.field or term.value)  # `=` says nothing


def resolve_terms(
    terms: Sequence[FieldTerm],
    *,
    group_resource: str,
    storage: str,
    group_version: str,
    kind: str,
    namespaced: bool,
    is_custom: bool = False,
    more: Iterable[str] = (),
) -> tuple[FieldTerm, ...]:
    """Check that the kind has these fields, and give them their stored names. `more` fields are read by path.

    Kinds that know no fields of their own know a namespace, also where they are in none.
    """
    is_events_v1 = group_resource == "events.events.k8s.io"
    is_plain = not is_custom and storage not in _UNKNOWN
    known = {"metadata.name"} | ({"metadata.namespace"} if namespaced or is_plain else set())
    known |= FIELDS.get(storage, {}).keys() | DOCUMENT_FIELDS.get(storage, {}).keys() | set(more)
    resolved = []
    for term in terms:
        field = _ALIASES.get((storage, term.field), term.field)
        if is_events_v1:
            field = _EVENTS_V1.get(
                field, "" if field.startswith(("involvedObject", "reportingComponent", "source")) else field
            )
        if field not in known:
            raise FieldSelectorError(_unknown(storage, is_custom).format(term.field, group_version, kind))
        resolved.append(FieldTerm(field, term.value, term.is_equal))
    return tuple(resolved)


def _unknown(storage: str, is_custom: bool) -> str:
    if is_custom:
        return _NOT_SUPPORTED
    return _UNKNOWN.get(storage, '"{0}" is not a known field selector: only "metadata.name", "metadata.namespace"')


def _split(text: str) -> list[str]:
    """At commas that no backslash escapes."""
    parts, current, escaped = [], "", False
    for char in text:
        if char == "," and not escaped:
            parts.append(current)
            current = ""
            continue
        current += char
        escaped = char == "\\" and not escaped
    return [*parts, current]


def _term(part: str, text: str) -> FieldTerm:
    at = 0
    while at < len(part):
        if part[at] == "\\":
            at += 2
            continue
        for sign, is_equal in (("!=", False), ("==", True), ("=", True)):
            if part.startswith(sign, at):
                return FieldTerm(part[:at], _unescape(part[at + len(sign) :]), is_equal)
        at += 1
    raise FieldSelectorError(f"invalid selector: '{text}'; can't understand '{part}'")


def _unescape(value: str) -> str:
    if "\\" not in value and "=" not in value:
        return value
    out, at = "", 0
    while at < len(value):
        char = value[at]
        if char == "\\":
            if at + 1 >= len(value) or value[at + 1] not in "\\,=":
                raise FieldSelectorError(f"invalid field selector: invalid escape sequence: {value[at : at + 2]}")
            out += value[at + 1]
            at += 2
            continue
        if char == "=":
            raise FieldSelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        out += char
        at += 1
    return out
