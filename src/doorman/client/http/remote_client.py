"""The client over HTTP: what a component asks of an API server, with the verbs that upstream's roles allow.

Where upstream sends a whole object its role says `update`, and a patch would be refused. Such patches are applied here,
to the object as the server has it, and sent with its version; when somebody was faster, again.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

import msgspec

from doorman.api.kinds import Kind
from doorman.api.patch.json_patch import json_patch, merge_patch
from doorman.api.patch.strategic_merge_patch import strategic_merge
from doorman.api.raw_members import (
    RAW_MEMBERS,
    RawTexts,
    as_it_is,
    canonical,
    read_texts,
    replaced,
    to_written,
    without_texts,
)
from doorman.api.scheme import Scheme
from doorman.api.well_known import JSON
from doorman.base.errors import ApiError, not_found
from doorman.base.json_types import Document
from doorman.client.actions import Bind, Create, Delete, Patch, PatchType, Update
from doorman.client.http.api_requests import TIMEOUT_SECONDS, ApiRequests
from doorman.client.http.unseen_writes import note

CONFLICTS_MAX: Final = 5

SENT_WHOLE: Final[frozenset[tuple[str, str]]] = frozenset(
    (
        ("daemonsets.apps", "status"),
        ("replicasets.apps", "status"),
        ("replicationcontrollers", "status"),
        ("deployments.apps", ""),
        ("deployments.apps", "status"),
        ("statefulsets.apps", "status"),
        ("jobs.batch", "status"),
        ("cronjobs.batch", "status"),
        ("cronjobs.batch", ""),
        ("poddisruptionbudgets.policy", "status"),
        ("horizontalpodautoscalers.autoscaling", "status"),
        ("endpoints", ""),
        ("endpointslices.discovery.k8s.io", ""),
        ("namespaces", "finalize"),
        ("namespaces", "status"),
        ("resourcequotas", "status"),
        ("configmaps", ""),
        ("certificatesigningrequests.certificates.k8s.io", "status"),
        ("certificatesigningrequests.certificates.k8s.io", "approval"),
        ("persistentvolumeclaims", ""),
        ("persistentvolumeclaims", "status"),
        ("persistentvolumes", ""),
        ("persistentvolumes", "status"),
        ("resourceclaims.resource.k8s.io", ""),
        ("volumeattributesclasses.storage.k8s.io", ""),
        ("leases.coordination.k8s.io", ""),
    )
)
"""Resource and subresource of what roles let components update, and not patch."""

Known = Callable[[str, str], bytes | None]
"""The newest version of an object that an informer has, by group resource and key: a document as bytes. Empty: it has
none; None: nobody follows the kind.
"""

_log: Final = logging.getLogger("doorman.client")


class RemoteClient:
    """Acts as whoever its requests are made by, under one field manager's name."""

    def __init__(
        self, requests: ApiRequests, scheme: Scheme, manager: str, known: Known = lambda _resource, _key: None
    ) -> None:
        """`known` saves reading what is sent whole; some roles do not let it be read alone."""
        self._known = known
        self._requests = requests
        self._scheme = scheme
        self._query = {"fieldManager": manager, "timeout": f"{TIMEOUT_SECONDS:g}s"}
        self._refused: set[tuple[str, str, str]] = set()

    def with_requests(self, requests: ApiRequests) -> Self:
        """The same with other credentials, headers or limits."""
        return type(self)(requests, self._scheme, self._query["fieldManager"], self._known)

    async def get(self, resource: str, namespace: str, name: str) -> Document:
        kind = self._kind(resource)
        found: Document = await self._ask("GET", "get", kind, path_of(kind, namespace, name))
        return found

    async def create(self, action: Create) -> Any:
        kind = self._kind(action.resource)
        # As Go writes them: a patch is refused later if it finds them written otherwise.
        body = replaced(kind.storage, {"kind": kind.kind, "apiVersion": kind.group_version, **action.body}, canonical)
        answer = await self._ask("POST", "create", kind, path_of(kind, action.namespace), body=body)
        note(kind.storage, action.namespace, answer)
        return answer

    async def update(self, action: Update) -> Any:
        kind = self._kind(action.resource)
        path = path_of(kind, action.namespace, action.name, action.subresource)
        body = {"kind": kind.kind, "apiVersion": kind.group_version, **action.body}
        answer = await self._ask("PUT", "update", kind, path, body=body)
        note(kind.storage, action.namespace, answer)
        return answer

    async def patch(self, action: Patch) -> Any:
        kind = self._kind(action.resource)
        if action.subresource == "scale":
            return await self._send_scale(kind, action)
        if (action.resource, action.subresource) in SENT_WHOLE and action.type is not PatchType.APPLY:
            return await self._send_whole(kind, action)
        path = path_of(kind, action.namespace, action.name, action.subresource)
        type_ = action.type
        if kind.is_custom and type_ is PatchType.STRATEGIC:
            type_ = PatchType.MERGE
        query = dict(self._query)
        if action.manager:
            query["fieldManager"] = action.manager
        body = action.body
        if type_ is PatchType.APPLY:
            query["force"] = "true"
            body = {"kind": kind.kind, "apiVersion": kind.group_version, **body}
        answer = await self._ask("PATCH", "patch", kind, path, body=body, query=query, content_type=str(type_))
        note(kind.storage, action.namespace, answer)
        return answer

    async def delete(self, action: Delete) -> None:
        kind = self._kind(action.resource)
        if (patch := action.patch_before()) is not None:
            await self.patch(patch)
        preconditions = {
            name: value for name, value in (("uid", action.uid), ("resourceVersion", action.resource_version)) if value
        }
        options: Document = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if preconditions:
            options["preconditions"] = preconditions
        if action.grace_seconds is not None:
            options["gracePeriodSeconds"] = action.grace_seconds
        if action.propagation:
            options["propagationPolicy"] = action.propagation
        path = path_of(kind, action.namespace, action.name)
        answer = await self._ask("DELETE", "delete", kind, path, body=options, query={})
        note(kind.storage, action.namespace, answer, deleted=action.name)

    async def bind(self, action: Bind) -> None:
        kind = self._kind("pods")
        binding: Document = {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": action.name, "namespace": action.namespace, "uid": action.uid},
            "target": {"kind": "Node", "name": action.node},
        }
        await self._ask("POST", "create", kind, path_of(kind, action.namespace, action.name, "binding"), body=binding)

    async def _send_whole(self, kind: Kind, action: Patch) -> Any:  # the object as a document
        """Upon what the informer knows. Where that will not do the object is read, by those whose role lets them."""
        conflict: ApiError | None = None
        known = self._known_document(kind, action)
        refusal = not_found(kind.named, action.name) if known == {} else None
        for attempt in range(CONFLICTS_MAX):
            live = known if attempt == 0 else None
            try:
                path = path_of(kind, action.namespace, action.name)
                live = live or await self._ask("GET", "get", kind, path, is_told=(conflict or refusal) is None)
            except ApiError as error:
                if error.code == 403 and (told := conflict or refusal) is not None:
                    raise told from error  # tried again when the informer has caught up
                raise
            patched = self._patched(kind, live, action)
            if patched == live:
                note(kind.storage, action.namespace, live)
                return live
            path = path_of(kind, action.namespace, action.name, action.subresource)
            try:
                answer = await self._ask("PUT", "update", kind, path, body=patched)
            except ApiError as error:
                is_stale = error.code == 409 and error.reason == "Conflict"
                is_ours = patched["metadata"].get("resourceVersion") == live["metadata"].get("resourceVersion")
                if not is_stale or not is_ours:
                    raise
                conflict = error
                continue
            note(kind.storage, action.namespace, answer)
            return answer
        assert conflict is not None, "every attempt but one with a conflict has returned or raised"
        raise conflict

    async def _send_scale(self, kind: Kind, action: Patch) -> Any:  # the Scale as a document
        """Roles let scales of all kinds be read and updated, and not patched."""
        path = path_of(kind, action.namespace, action.name, action.subresource)
        for attempt in range(1, CONFLICTS_MAX + 1):
            live = await self._ask("GET", "get", kind, path)
            try:
                answer = await self._ask("PUT", "update", kind, path, body=merge_patch(live, action.body))
            except ApiError as error:
                if error.code != 409 or attempt == CONFLICTS_MAX:
                    raise
            else:
                note(kind.storage, action.namespace, answer)
                return answer
        raise AssertionError("the last attempt has returned or raised")

    def _known_document(self, kind: Kind, action: Patch) -> Document | None:
        """Empty: the informer has none. None: nobody follows the kind."""
        key = f"{action.namespace}/{action.name}" if action.namespace else action.name
        content = self._known(action.resource, key)
        if not content:
            return None if content is None else {}
        known = {"kind": kind.kind, "apiVersion": kind.group_version, **msgspec.json.decode(content)}
        read_texts(kind.storage, known, content)
        return known

    def _patched(self, kind: Kind, live: Document, action: Patch) -> Document:
        patched = self._with_values_patched(kind, without_texts(kind.storage, live), action)
        return RawTexts(kind.storage, live).after(patched, as_it_is) if kind.storage in RAW_MEMBERS else patched

    def _with_values_patched(self, kind: Kind, live: Document, action: Patch) -> Document:
        if action.type is PatchType.JSON:
            patched: Document = json_patch(live, action.body)
            return patched
        if action.type is PatchType.MERGE or kind.is_custom:
            return merge_patch(live, action.body)
        return strategic_merge(self._scheme.schema, kind.type_name, live, action.body)

    async def _ask(
        self,
        method: str,
        verb: str,
        kind: Kind,
        path: str,
        *,
        body: Any = None,  # any JSON value
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        is_told: bool = True,
    ) -> Any:  # a document
        """`is_told`: a right that is missing is logged."""
        if method in ("POST", "PUT") and kind.storage in RAW_MEMBERS:
            body = to_written(kind.storage, body)
        content = msgspec.json.encode(body) if body is not None else b""
        if query is None:
            query = self._query if method != "GET" else {}
        try:
            return await self._requests.document(method, path, query=query, body=content, content_type=content_type)
        except ApiError as error:
            if is_told and error.code == 403 and error.reason == "Forbidden":
                self._tell_refusal(verb, kind, path, error)
            raise

    def _tell_refusal(self, verb: str, kind: Kind, path: str, error: ApiError) -> None:
        """Once for each right that is missing; a refusal for other reasons (a quota) is the controller's to tell."""
        subresource = path.rpartition("/")[2] if kind.subresource(path.rpartition("/")[2]) else ""
        what = f"{kind.group_resource}/{subresource}" if subresource else kind.group_resource
        if "cannot " in error.message and (verb, what, "") not in self._refused:
            self._refused.add((verb, what, ""))
            _log.warning('a right is missing: verbs ["%s"] on %s: %s', verb, what, error.message)

    def _kind(self, resource: str) -> Kind:
        return self._scheme.kinds.named(resource)


def path_of(kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
    parts = [kind.path]
    if kind.namespaced and namespace:
        parts.append(f"namespaces/{namespace}")
    parts.append(kind.resource)
    if name:
        parts.append(name)
    if subresource:
        parts.append(subresource)
    return "/".join(parts)
