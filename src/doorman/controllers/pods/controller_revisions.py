"""Controller revisions: the templates a DaemonSet or StatefulSet has had, so that it can go back to one.

Rules
-----
1. A revision holds the template as a patch that replaces it; two revisions are equal when that patch is. Its members
   are in order of their names, as Go writes them: `kubectl rollout undo` compares the bytes.
2. Its name ends in a hash of the template (and of the collision count, which grows when another template has the name).
3. The current template's revision has the highest number: a template that was had before is not stored again, its
   revision is numbered anew.
4. Old revisions beyond the limit that no pod carries are deleted, oldest first.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.views.apps import ControllerRevision, Template, template_labels
from doorman.api.views.meta import ObjectMeta
from doorman.api.well_known import CONTROLLER_REVISIONS
from doorman.client.actions import Action, Create, Delete, Patch
from doorman.controllers.pods.pod_state import fnv1a_32, safe_text

HASH_LABEL: Final = "controller-revision-hash"
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The hash of the current template, its revision's number, and what must be written for it to be so."""

    hash: str
    name: str
    revision: int
    actions: tuple[Action, ...] = ()
    collided: bool = False


def template_hash(template: Template, collision_count: int = 0) -> str:
    """
    >>> template_hash({"a": 1, "b": 2}) == template_hash({"b": 2, "a": 1}) != template_hash({"a": 1, "b": 2}, 1)
    True
    """
    data = _ENCODER.encode(template)
    return safe_text(fnv1a_32(data + (str(collision_count).encode() if collision_count else b"")))


def revision_data(template: Template) -> dict[str, Any]:
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def decide_history(
    owner: ObjectMeta,
    template: Template,
    collision_count: int,
    revisions: Sequence[ControllerRevision],
    *,
    reference: Mapping[str, Any],  # an owner reference as JSON
) -> History:
    """Rules 1 to 3."""
    data = revision_data(template)
    newest = max((revision.revision for revision in revisions), default=0)
    equal = [revision for revision in revisions if revision.data == data]
    if equal:
        current = max(equal, key=lambda revision: revision.revision)
        label = current.metadata.labels.get(HASH_LABEL) or current.metadata.name.rpartition("-")[2]
        if current.revision == newest:
            return History(hash=label, name=current.metadata.name, revision=newest)
        again = {"revision": newest + 1}
        patch = Patch(resource=CONTROLLER_REVISIONS, namespace=owner.namespace, name=current.metadata.name, body=again)
        return History(hash=label, name=current.metadata.name, revision=newest + 1, actions=(patch,))
    label = template_hash(template, collision_count)
    name = f"{owner.name}-{label}"
    collided = any(revision.metadata.name == name for revision in revisions)
    metadata: dict[str, Any] = {  # JSON
        "name": name,
        "namespace": owner.namespace,
        "labels": {**template_labels(template), HASH_LABEL: label},
        "ownerReferences": [dict(reference)],
    }
    if owner.annotations:
        metadata["annotations"] = dict(owner.annotations)
    body = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": msgspec.json.decode(_ENCODER.encode(data)),
        "revision": newest + 1,
    }
    create = Create(resource=CONTROLLER_REVISIONS, namespace=owner.namespace, body=body)
    return History(hash=label, name=name, revision=newest + 1, actions=(create,), collided=collided)


def decide_cleanup(
    revisions: Sequence[ControllerRevision], limit: int, *, current: str, carried: Collection[str]
) -> list[Action]:
    """Rule 4: `carried` are the hashes that pods still have."""
    old = [
        revision
        for revision in sorted(revisions, key=lambda revision: revision.revision)
        if revision.metadata.name != current
    ]
    idle = [revision for revision in old if revision.metadata.labels.get(HASH_LABEL) not in carried]
    excess = max(len(old) - limit, 0)
    return [
        Delete(
            resource=CONTROLLER_REVISIONS,
            namespace=revision.metadata.namespace,
            name=revision.metadata.name,
            uid=revision.metadata.uid,
        )
        for revision in idle[:excess]
    ]
