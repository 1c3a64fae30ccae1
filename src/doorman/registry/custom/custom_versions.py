"""Custom objects between versions: as they are stored, and as a version of their kind shows them.

A stored custom object remembers the version it was stored in (`$version`, a member no client ever sees) when its kind
has several. On the way out

1. what its definition has come to forbid or to give by default since it was written is taken away and filled in,
2. it is converted to the version that was asked for: by its definition's webhook, or by changing its name only,
3. what that version does not know is taken away.

On the way in it is converted to the version that is stored. Kinds with one version whose objects are all younger than
their definition need none of this, and cost nothing.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from doorman.admission.webhooks.webhook_dispatch import Post, Unanswered
from doorman.api.kinds import Kind
from doorman.api.machinery.schema import Schema
from doorman.api.machinery.structural_schema import Structural, TooMuch, fill_defaults, prune
from doorman.api.views.admissionregistration import ClientConfig
from doorman.api.views.meta import to_view
from doorman.base.errors import ApiError, no_such_resource
from doorman.base.json_types import Document
from doorman.registry.cache.stored_object import Stored, to_kept_bytes, unstored

MARK: Final = "$version"
TIMEOUT_SECONDS: Final = 30
_REVIEW: Final = "apiextensions.k8s.io/v1"
_KEPT: Final[tuple[str, ...]] = (
    "name", "namespace", "uid", "generateName", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "ownerReferences", "finalizers", "generation", "managedFields", "resourceVersion",
)  # fmt: skip
"""Of metadata, what a webhook does not change: it has labels and annotations to play with."""


class CustomVersions:
    def __init__(self, schema: Schema, post: Post, uid: Callable[[], str]) -> None:
        """`post` is how a definition's webhook is asked."""
        self._schema = schema
        self._post = post
        self._uid = uid

    @staticmethod
    def is_different(kind: Kind, revision: int) -> bool:
        """Whether an object of this revision may be stored in another form than it is shown in."""
        return kind.is_custom and (bool(kind.stored_version) or revision <= kind.schema_revision)

    async def shown(self, kind: Kind, stored: Sequence[Stored]) -> list[Stored]:
        """The objects as this version shows them."""
        old = [index for index, one in enumerate(stored) if self.is_different(kind, one.revision)]
        docs = await self.read(kind, [stored[index].document() for index in old])
        out = list(stored)
        for index, doc in zip(old, docs, strict=True):
            out[index] = unstored(to_kept_bytes(doc), stored[index].key, stored[index].revision)
        return out

    async def read(self, kind: Kind, docs: Sequence[Document]) -> list[Document]:
        """Documents as they are stored, in this version. They belong to the caller."""
        out = list(docs)
        pending: list[int] = []
        for index, doc in enumerate(out):
            version, out[index] = self._brought_up_to_date(kind, doc)
            if version != kind.version:
                pending.append(index)
                out[index] = {"apiVersion": f"{kind.group}/{version}", "kind": kind.kind, **out[index]}
        if not pending:
            return out
        converted = await self._converted(kind, [out[index] for index in pending], kind.version)
        now = self._structural(kind, kind.version)
        if now is None:
            raise no_such_resource()
        for index, doc in zip(pending, converted, strict=True):
            out[index] = _headless(prune(doc, now, []))
        return out

    def read_at_once(self, kind: Kind, doc: Document) -> Document | None:
        """The same for one document and for whoever cannot wait; None when it takes a webhook."""
        version, current = self._brought_up_to_date(kind, doc)
        if version == kind.version:
            return current
        return self.pruned(kind, current, kind.version) if kind.converter is None else None

    def _brought_up_to_date(self, kind: Kind, doc: Document) -> tuple[str, Document]:
        """The version a document is stored in, and the document as that version describes it today."""
        version = doc.pop(MARK, kind.stored_version or kind.version)
        was = self._structural(kind, version)
        if was is not None:
            doc = prune(doc, was, [])
            with contextlib.suppress(TooMuch):  # it is shown with as many as there is room for
                fill_defaults(doc, was)
        return version, doc

    async def to_write(self, kind: Kind, doc: Document) -> Document:
        """The document of a kind that has several versions as it is stored."""
        if not kind.stored_version:
            return doc
        if kind.stored_version == kind.version:
            return {**doc, MARK: kind.version}
        full = {"apiVersion": kind.group_version, "kind": kind.kind, **doc}
        (converted,) = await self._converted(kind, [full], kind.stored_version)
        target = self._structural(kind, kind.stored_version)
        pruned = _headless(prune(converted, target, [])) if target is not None else _headless(converted)
        return {**pruned, MARK: kind.stored_version}

    async def between(self, kind: Kind, doc: Document, version: str, wanted: str) -> Document:
        """A document in one version as another one shows it. The given one is not changed."""
        if version == wanted:
            return doc
        full = {"apiVersion": f"{kind.group}/{version}", "kind": kind.kind, **doc}
        (converted,) = await self._converted(kind, [full], wanted)
        return self.pruned(kind, _headless(converted), wanted)

    def pruned(self, kind: Kind, doc: Document, version: str) -> Document:
        """The document without what that version does not know."""
        found = self._structural(kind, version)
        if found is None:
            raise no_such_resource()
        pruned: Document = prune(doc, found, [])
        return pruned

    def _structural(self, kind: Kind, version: str) -> Structural | None:
        """The schema of any version of the kind; None when that version is no longer described."""
        type_name = kind.type_name if version == kind.version else dict(kind.version_types).get(version, "")
        return self._schema.structural(type_name)

    async def _converted(self, kind: Kind, docs: list[Document], version: str) -> list[Document]:
        wanted = f"{kind.group}/{version}"
        if kind.converter is None:
            return [{**doc, "apiVersion": wanted} for doc in docs]
        head = f"conversion webhook for {kind.group}/{kind.version}, Kind={kind.kind}"
        uid = self._uid()
        request = {"uid": uid, "desiredAPIVersion": wanted, "objects": docs}
        review = {"kind": "ConversionReview", "apiVersion": _REVIEW, "request": request}
        try:
            body = await self._post(kind.converter, review, TIMEOUT_SECONDS)
        except Unanswered as error:
            raise _failed(f"{head} failed: {str(error).removeprefix('failed to call webhook: ')}") from error
        return _checked(body, docs, wanted, uid, head)


def converter_of(definition: Document) -> ClientConfig | None:
    """Where a definition's webhook is; None when versions differ by name only."""
    conversion = definition["spec"].get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return None
    return to_view((conversion.get("webhook") or {}).get("clientConfig") or {}, ClientConfig)


def _checked(body: bytes, docs: list[Document], wanted: str, uid: str, head: str) -> list[Document]:
    try:
        response = msgspec.json.decode(body)["response"]
        result = response.get("result") or {}
        answered: Any = response.get("convertedObjects") or []
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise _failed(f"{head} failed: no ConversionReview came back") from error
    if response.get("uid") != uid:
        raise _failed(f"{head} failed: expected response.uid={uid}, got {response.get('uid')}")
    if result.get("status") != "Success":
        raise _failed(f"{head} failed: {result.get('message') or 'no message'}")
    if not isinstance(answered, list) or len(answered) != len(docs):
        raise _failed(f"{head} returned {len(answered)} objects, expected {len(docs)}")
    out = []
    for index, (doc, answer) in enumerate(zip(docs, answered, strict=True)):
        if not isinstance(answer, dict) or answer.get("apiVersion") != wanted or answer.get("kind") != doc["kind"]:
            found = answer.get("apiVersion") if isinstance(answer, dict) else answer
            detail = f"invalid groupVersion (expected {wanted}, received {found})"
            raise _failed(f"{head} returned invalid converted object at index {index}: {detail}")
        out.append({**answer, "metadata": _metadata(answer.get("metadata"), doc["metadata"])})
    return out


def _metadata(answer: Any, before: Document) -> Document:  # whatever the webhook sent
    own = answer if isinstance(answer, dict) else {}
    kept = {name: before[name] for name in _KEPT if name in before}
    given = {
        name: {str(key): str(value) for key, value in own[name].items()}
        for name in ("labels", "annotations")
        if isinstance(own.get(name), dict) and own[name]
    }
    return {**kept, **given}


def _failed(message: str) -> ApiError:
    return ApiError(500, "", message)


def _headless(doc: Document) -> Document:
    return {name: value for name, value in doc.items() if name not in ("apiVersion", "kind")}
